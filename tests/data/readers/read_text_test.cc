#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <fstream>

#include "mega/base/files/file.h"
#include "mega/base/files/stream.h"
#include "mega/data/examples.h"
#include "mega/data/readers/readers.h"
#include "tests/base/helpers.h"
#include "tests/data/records.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

void put(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  write_file(path, text);
}

using Reader = void (*)(const fs::path&, const DataOptions&, RecordSink&, Problems&);

// Records as "where text(+second)=label/split", problems as "!where what".
std::string summary(Reader reader, const fs::path& path, const DataOptions& options = {}) {
  Problems problems(true);
  std::string text;
  for (const Record& record : testing::collect(reader, path, options, problems)) {
    text += record.where + " " + record.bytes + (record.second.empty() ? "" : "+" + record.second) + "=" +
            record.label + "/" + std::to_string(static_cast<int>(record.split)) + "; ";
  }
  for (const Problem& problem : problems.first()) text += "!" + problem.where + " " + problem.what;
  return text;
}

TEST(ReadText, OneTableHasNoSplit) {
  const ScratchFolder folder;
  put(folder / "train.csv", "text,label\na,1.0\nb,0.0\n");
  EXPECT_EQ(summary(read_text, folder / "train.csv"), "train.csv:2 a=1/0; train.csv:3 b=0/0; ");
}

TEST(ReadText, TablesInAFolderSayTheirSplit) {
  const ScratchFolder folder;
  put(folder / "set.train.tsv", "1\tid/1\ta\tb\n0\tid/2\tc\n0\tid/2\tc\n");
  put(folder / "set.dev.jsonl", "{\"text\": \"d\", \"label\": 1}\n");
  put(folder / "more/set.csv", "1,e e\n1,f f\n");
  put(folder / "README", "text");
  OutputStream out(folder / "set.test.csv.xz");
  out.write("label,text\n0,g\n");
  out.commit();
  EXPECT_EQ(summary(read_text, folder.path()),
            "more/set.csv:1 e e=1/0; more/set.csv:2 f f=1/0; set.dev.jsonl:1 d=1/2; set.test.csv.xz:2 g=0/3; "
            "set.train.tsv:1 a\tb=1/1; set.train.tsv:2 c=0/1; set.train.tsv:3 c=0/1; ");
  DataOptions options;
  options.test_pattern = "^more/";
  options.classes = {"1"};
  EXPECT_EQ(
      summary(read_text, folder.path(), options),
      "more/set.csv:1 e e=1/3; more/set.csv:2 f f=1/3; set.dev.jsonl:1 d=1/2; set.train.tsv:1 a\tb=1/1; ");
}

TEST(ReadText, WithoutHeaderTheLabelIsTheColumnWithFewerValues) {
  const ScratchFolder folder;
  put(folder / "first.csv", "good,a\nbad,b\ngood,c\n");
  EXPECT_PRED2(contains, summary(read_text, folder / "first.csv"), "first.csv:1 a=good/0; ");
  put(folder / "last.csv", "a,good\nb,bad\nc,good\n");
  EXPECT_PRED2(contains, summary(read_text, folder / "last.csv"), "last.csv:1 a=good/0; ");
  put(folder / "one.csv", "a long text,good\n");
  EXPECT_PRED2(contains, summary(read_text, folder / "one.csv"), "one.csv:1 a long text=good/0; ");
  put(folder / "four.csv", "1,2,3,4\n");
  EXPECT_PRED2(contains, error_of([&] { summary(read_text, folder / "four.csv"); }),
               "four.csv: which column is the text? There are 4 columns and no header; set text_column");
}

TEST(ReadText, AFolderPerClass) {
  const ScratchFolder folder;
  put(folder / "train/pos/0_9.txt", "fine\nfilm\t\xFF");
  put(folder / "train/sehr sch\xC3\xB6n/1", "x");
  put(folder / "test/neg/0_1.txt", "bad");
  put(folder / "test/neg/0_2.txt", "");
  EXPECT_EQ(summary(read_text, folder.path()),
            "test/neg/0_1.txt bad=neg/3; train/pos/0_9.txt fine\nfilm\t\xFF=pos/1; "
            "train/sehr sch\xC3\xB6n/1 x=sehr sch\xC3\xB6n/1; !test/neg/0_2.txt the text is empty");
}

TEST(ReadText, DamagedTextFilesAreProblems) {
  const ScratchFolder folder;
  put(folder / "pos/1.txt", "fine");
  put(folder / "pos/2.txt.gz", std::string_view("\x1f\x8b\x08\x00\x00", 5));
  EXPECT_PRED2(contains, summary(read_text, folder.path()), "pos/1.txt fine=pos/0; !pos/2.txt.gz ");
}

TEST(ReadText, NothingToRead) {
  const ScratchFolder folder;
  EXPECT_PRED2(contains, error_of([&] { summary(read_text, folder.path()); }), "no examples here");
  EXPECT_PRED2(contains, error_of([&] { summary(read_text, folder / "none.csv"); }), "none.csv");
  EXPECT_PRED2(contains, error_of([&] { summary(read_pairs, folder.path()); }),
               "no csv, tsv or jsonl files here");
  put(folder / "empty.csv", "");
  EXPECT_EQ(summary(read_text, folder / "empty.csv"), "!empty.csv no examples in this table");
}

TEST(ReadText, ProblemsStopUnlessTheyAreToBeSkipped) {
  const ScratchFolder folder;
  put(folder / "a.tsv", "1\ta\n1\tb\n0\n");
  Problems problems(false);
  EXPECT_PRED2(contains, error_of([&] { testing::collect(read_text, folder / "a.tsv", {}, problems); }),
               "a.tsv:3: 1 column where 2 are expected");
}

TEST(ReadPairs, ThePublishedColumns) {
  const ScratchFolder folder;
  put(folder / "new_aan_pairs.train.tsv",
      "1.0\tP01\tP02\tone\ttwo\n0.0\tP03\tP04\tthree\tfour\tfive\n1.0\tA\tB\tc\td\n");
  put(folder / "new_aan_pairs.eval.tsv", "0.0\tP01\tP02\tsix\tseven\n");
  EXPECT_EQ(summary(read_pairs, folder.path()),
            "new_aan_pairs.eval.tsv:1 six+seven=0/2; new_aan_pairs.train.tsv:1 one+two=1/1; "
            "new_aan_pairs.train.tsv:2 three+four\tfive=0/1; new_aan_pairs.train.tsv:3 c+d=1/1; ");
}

TEST(ReadPairs, OtherColumns) {
  const ScratchFolder folder;
  put(folder / "three.csv", "same,a,b\nother,c,d\n");
  EXPECT_EQ(summary(read_pairs, folder / "three.csv"), "three.csv:1 a+b=same/0; three.csv:2 c+d=other/0; ");
  put(folder / "named.csv", "id,sentence2,sentence1,label\n7,b,a,1\n");
  EXPECT_EQ(summary(read_pairs, folder / "named.csv"), "named.csv:2 a+b=1/0; ");
  put(folder / "lines.jsonl", "{\"premise\": \"a\", \"hypothesis\": \"b\", \"label\": 2}");
  EXPECT_EQ(summary(read_pairs, folder / "lines.jsonl"), "lines.jsonl:1 a+b=2/0; ");
  DataOptions options;
  options.second_column = "3";
  EXPECT_PRED2(contains, error_of([&] { summary(read_pairs, folder / "named.csv", options); }),
               "column 3 would be both first text and second text");
}

TEST(ReadPairs, AnEmptySecondTextIsAProblem) {
  const ScratchFolder folder;
  put(folder / "three.csv", "same,a,b\nother,c,\n");
  EXPECT_EQ(summary(read_pairs, folder / "three.csv"),
            "three.csv:1 a+b=same/0; !three.csv:2 the second text is empty");
}

// What the allocator has given out.
size_t allocated() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(ReadText, SmallFilesTakeLittleMemory) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer has an allocator of its own";
#endif
  constexpr size_t kFiles = 5000;
  const ScratchFolder folder;
  for (const char* name : {"a", "b"}) fs::create_directories(folder / name);
  for (size_t i = 0; i < kFiles; ++i)
    std::ofstream(folder.path() / (i % 2 == 0 ? "a" : "b") / (std::to_string(i) + ".txt")) << "a text " << i;
  const size_t before = allocated();
  Examples examples(int64_t{1} << 30);
  Problems problems(false);
  read_text(folder.path(), {}, examples, problems);
  ASSERT_EQ(examples.size(), static_cast<int64_t>(kFiles));
  EXPECT_LT(allocated() - before, kFiles * 500);
  struct rusage usage {};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &usage), 0);
  EXPECT_LT(usage.ru_maxrss, 200'000) << "kB at any time";
}

}  // namespace
}  // namespace mega::data
