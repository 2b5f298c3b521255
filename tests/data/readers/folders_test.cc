#include "mega/data/readers/folders.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "mega/base/files/file.h"
#include "tests/base/helpers.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

void touch(const fs::path& path) {
  fs::create_directories(path.parent_path());
  write_file(path, "x");
}

std::vector<std::string> names_in(const fs::path& folder, const std::vector<std::string>& extensions) {
  std::vector<std::string> names;
  for (const fs::path& path : list_files(folder, extensions)) {
    names.push_back(path.lexically_relative(folder).generic_string());
  }
  return names;
}

struct Found {
  std::vector<LabelledFile> files;
  Problems problems{true};

  Found(const fs::path& folder, const DataOptions& options = {}) {
    files = labelled_files(folder, {".txt"}, options, problems);
  }
  std::string summary() const {
    std::string text;
    for (const LabelledFile& file : files) {
      text += file.relative + "=" + file.label + "/" + std::to_string(static_cast<int>(file.split)) + " ";
    }
    return text;
  }
};

TEST(ListFiles, OrderIsThatOfThePathsNotOfTheirMaking) {
  const std::vector<std::string> sorted = {"B/x.txt",   "a b/x.txt", "a-b.txt",     "a.txt",
                                           "a/b/c.txt", "a/z.txt",   "\xC3\xA4.txt"};
  std::vector<std::string> order = sorted;
  for (int i = 0; i < 5; ++i) {
    std::next_permutation(order.begin(), order.end());
    std::rotate(order.begin(), order.begin() + 3, order.end());
    const ScratchFolder folder;
    for (const std::string& name : order) touch(folder.path() / name);
    EXPECT_EQ(names_in(folder.path(), {".txt"}), sorted);
  }
}

TEST(ListFiles, ExtensionsInAnyCaseAndPacking) {
  const ScratchFolder folder;
  for (const char* name : {"a.CSV", "b.csv.gz", "c.csv.xz", "d.txt", "e", "f.csv.bak"}) touch(folder / name);
  EXPECT_EQ(names_in(folder.path(), {".csv"}), (std::vector<std::string>{"a.CSV", "b.csv.gz", "c.csv.xz"}));
  EXPECT_EQ(names_in(folder.path(), {".txt", ""}), (std::vector<std::string>{"d.txt", "e"}));
  EXPECT_EQ(names_in(folder.path(), {}).size(), 6u);
}

TEST(ListFiles, HiddenFilesBrokenLinksAndLoopsAreIgnored) {
  const ScratchFolder folder;
  touch(folder / "a/x.txt");
  touch(folder / ".git/x.txt");
  touch(folder / "a/._x.txt");
  fs::create_directory_symlink("..", folder / "a/up");
  fs::create_directory_symlink("a", folder / "b");
  fs::create_symlink("nowhere", folder / "broken.txt");
  fs::create_symlink("a/x.txt", folder / "link.txt");
  EXPECT_EQ(names_in(folder.path(), {".txt"}), (std::vector<std::string>{"a/x.txt", "link.txt"}));
  EXPECT_EQ(names_in(folder / "a/", {".txt"}).size(), 2u) << "x.txt, and link.txt by way of a/up";
}

TEST(ListFiles, ErrorsNameTheFolder) {
  const ScratchFolder folder;
  touch(folder / "file");
  EXPECT_PRED2(contains, error_of([&] { list_files(folder / "none", {}); }), "none: no such folder");
  EXPECT_PRED2(contains, error_of([&] { list_files(folder / "file", {}); }), "file: not a folder");
  fs::create_directory(folder / "empty");
  EXPECT_TRUE(list_files(folder / "empty", {}).empty());
}

TEST(SplitOf, WholeWordsOfNamesAndFolders) {
  EXPECT_EQ(split_of("train/x.txt"), Split::train);
  EXPECT_EQ(split_of("basic_val.tsv"), Split::valid);
  EXPECT_EQ(split_of("a.eval.tsv.gz"), Split::valid);
  EXPECT_EQ(split_of("my dev set.csv"), Split::valid);
  EXPECT_EQ(split_of("validation/x"), Split::valid);
  EXPECT_EQ(split_of("GunPoint_TEST.tsv"), Split::test);
  EXPECT_EQ(split_of("t10k-images-idx3-ubyte"), Split::test);
  EXPECT_EQ(split_of("contest.csv"), Split::unknown);
  EXPECT_EQ(split_of("testing/x.csv"), Split::unknown);
  EXPECT_EQ(split_of("test tubes/x.csv"), Split::unknown) << "of a folder the whole name counts";
  EXPECT_EQ(split_of(""), Split::unknown);
}

TEST(SplitOf, TheFolderNearestTheRootWins) {
  EXPECT_EQ(split_of("test/train/valid.csv"), Split::test);
  EXPECT_EQ(split_of("cats/train/test.csv"), Split::train);
  EXPECT_EQ(split_of("cats/x_train_test.csv"), Split::train);
}

TEST(LabelledFiles, AFolderPerClass) {
  const ScratchFolder folder;
  for (const char* name :
       {"train/big dog/1.txt", "train/\xE7\x8C\xAB/1.txt", "test/big dog/2.txt", "owl/train/3.txt"}) {
    touch(folder / name);
  }
  const Found found(folder.path());
  EXPECT_EQ(found.summary(),
            "owl/train/3.txt=owl/1 test/big dog/2.txt=big dog/3 train/big dog/1.txt=big dog/1 "
            "train/\xE7\x8C\xAB/1.txt=\xE7\x8C\xAB/1 ");
  EXPECT_EQ(found.problems.count(), 0);
  EXPECT_EQ(read_file(found.files[0].absolute), "x");
}

TEST(LabelledFiles, FilesWithoutAClassAreProblems) {
  const ScratchFolder folder;
  for (const char* name : {"loose.txt", "train/loose.txt", "cat/1.txt"}) touch(folder / name);
  const Found found(folder.path());
  EXPECT_EQ(found.summary(), "cat/1.txt=cat/0 ");
  ASSERT_EQ(found.problems.count(), 2);
  EXPECT_EQ(found.problems.first()[1].where, "train/loose.txt");
  EXPECT_PRED2(contains, found.problems.first()[0].what, "not in a folder of a class");
}

TEST(LabelledFiles, AclImdbAsItIsReleased) {
  const ScratchFolder folder;
  for (const char* name : {"README", "imdbEr.txt", "train/urls_pos.txt", "train/unsup/1_0.txt",
                           "train/pos/1_9.txt", "test/neg/1_2.txt", "test/urls_neg.txt"}) {
    touch(folder / name);
  }
  const Found found(folder.path());
  EXPECT_EQ(found.summary(), "test/neg/1_2.txt=neg/3 train/pos/1_9.txt=pos/1 ");
  EXPECT_EQ(found.problems.count(), 0);
}

TEST(LabelledFiles, PatternsForLabelAndTest) {
  const ScratchFolder folder;
  for (const char* name : {"7_ann_0.txt", "7_ann_9.txt", "3_bob_9.txt", "valid/3_bob_7.txt", "notes.txt"}) {
    touch(folder / name);
  }
  DataOptions options;
  options.label_pattern = "(\\d)_[a-z]+_\\d";
  options.test_pattern = "_[0-4]\\.txt$";
  const Found found(folder.path(), options);
  EXPECT_EQ(found.summary(), "3_bob_9.txt=3/1 7_ann_0.txt=7/3 7_ann_9.txt=7/1 valid/3_bob_7.txt=3/2 ");
  ASSERT_EQ(found.problems.count(), 1);
  EXPECT_EQ(found.problems.first()[0].where, "notes.txt");
}

TEST(LabelledFiles, OnlyTheClassesAskedFor) {
  const ScratchFolder folder;
  for (const char* name : {"cat/1.txt", "dog/1.txt", "owl/1.txt"}) touch(folder / name);
  DataOptions options;
  options.classes = {"owl", "cat"};
  EXPECT_EQ(Found(folder.path(), options).summary(), "cat/1.txt=cat/0 owl/1.txt=owl/0 ");
}

TEST(LabelledFiles, BadPatternsAreErrors) {
  const ScratchFolder folder;
  DataOptions options;
  options.label_pattern = "([a-z";
  EXPECT_PRED2(contains, error_of([&] { Found found(folder.path(), options); }),
               "label_pattern = \"([a-z\" is not a regular expression");
  options.label_pattern = "[a-z]+";
  EXPECT_PRED2(contains, error_of([&] { Found found(folder.path(), options); }), "has no group");
  options.label_pattern = "";
  options.test_pattern = "*";
  EXPECT_PRED2(contains, error_of([&] { Found found(folder.path(), options); }), "test_pattern = \"*\"");
}

TEST(ListFiles, PipesAndSocketsAreNoFiles) {
  const ScratchFolder folder;
  touch(folder.path() / "a/file.txt");
  for (const char* name : {"a/pipe.txt", "a/pipe.csv", "pipe.txt"})
    ASSERT_EQ(::mkfifo((folder / name).c_str(), 0600), 0);
  EXPECT_EQ(names_in(folder.path(), {".txt"}), std::vector<std::string>{"a/file.txt"});
  std::vector<fs::path> others;
  list_files(folder.path(), {".txt"}, &others);
  EXPECT_EQ(others, (std::vector<fs::path>{folder / "a/pipe.txt", folder / "pipe.txt"}));

  const Found found(folder.path());
  EXPECT_EQ(found.summary(), "a/file.txt=a/0 ");
  ASSERT_EQ(found.problems.count(), 2);
  EXPECT_EQ(found.problems.first()[0].where, "a/pipe.txt");
  EXPECT_PRED2(contains, found.problems.first()[0].what, "is a pipe");
}

// As deep as paths can be: what each level costs must not grow with those above it.
TEST(ListFiles, DeepFoldersAreListedInTime) {
  const ScratchFolder folder;
  fs::path deepest = folder.path() / "class";
  fs::create_directory(deepest);
  constexpr int kLevels = 1500;
  for (int i = 0; i < kLevels; ++i) fs::create_directory(deepest /= "d");
  std::ofstream(deepest / "x.txt") << "x";
  fs::create_directory_symlink(folder.path(), deepest / "back");
  const auto start = std::chrono::steady_clock::now();
  const Found found(folder.path());
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  ASSERT_EQ(found.files.size(), 1u);
  EXPECT_EQ(found.files[0].label, "d");
  EXPECT_LT(taken.count(), 3.0);

  // One by one: remove_all keeps every level open.
  fs::remove(deepest / "x.txt");
  fs::remove(deepest / "back");
  for (; deepest != folder.path(); deepest = deepest.parent_path()) fs::remove(deepest);
}

}  // namespace
}  // namespace mega::data
