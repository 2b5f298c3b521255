#include "mega/data/parallel/parallel_texts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mega/data/parallel/language_files.h"
#include "tests/data/parallel/pair_files.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::error_of;

class ParallelTextsTest : public PairFilesTest {
 protected:
  ParallelTexts find(const DataOptions& options, const char* source = "", const char* target = "") {
    fs::create_directories(path("cache"));
    return find_parallel_texts(options, translation(TextUnits::words, source, target), path("cache"),
                               problems_);
  }
  std::string error(const DataOptions& options, const char* source = "", const char* target = "") {
    return error_of([&] { find(options, source, target); });
  }

  // The name of the only pair of files, "train.en train.de".
  static std::string names(const PairText& text) {
    std::string all;
    for (const PairFiles& files : text.files) {
      all += all.empty() ? "" : ", ";
      all += files.source.filename().string();
      if (!files.is_table()) all += " " + files.target.filename().string();
    }
    return all;
  }

  Problems problems_{true};
};

TEST_F(ParallelTextsTest, TwoFilesByName) {
  put("a", "x\n");
  put("b", "y\n");
  DataOptions options = data("a");
  options.target = path("b").string();
  const ParallelTexts texts = find(options);
  EXPECT_EQ(names(texts.train), "a b");
  EXPECT_EQ(texts.languages.source, "");
  options.target = path("missing").string();
  EXPECT_PRED2(contains, error(options), "missing: no such file");
}

TEST_F(ParallelTextsTest, EndingsOfTwoFilesAreLanguages) {
  put("a.en.gz", "x\n");
  put("b.pt_BR", "y\n");
  DataOptions options = data("a.en.gz");
  options.target = path("b.pt_BR").string();
  const ParallelTexts texts = find(options);
  EXPECT_EQ(texts.languages.source, "en");
  EXPECT_EQ(texts.languages.target, "pt_BR");
  EXPECT_EQ(find(options, "xx").languages.source, "xx");  // who says it is right
}

TEST_F(ParallelTextsTest, TheCounterpartOfAFileStandsBesideIt) {
  put("train.en", "x\n");
  put("train.de.xz", "y\n");
  const ParallelTexts texts = find(data("train.de.xz"));
  EXPECT_EQ(names(texts.train), "train.de.xz train.en");
  EXPECT_EQ(texts.languages.source, "de");
  EXPECT_EQ(texts.languages.target, "en");
  put("train.fr", "z\n");
  EXPECT_PRED2(contains, error(data("train.en")), "there is text in de, fr; which");
  EXPECT_EQ(names(find(data("train.en"), "", "fr").train), "train.en train.fr");
  EXPECT_PRED2(contains, error(data("train.en"), "", "en"), "one side of parallel text");
}

TEST_F(ParallelTextsTest, ABeginningOfBothNames) {
  put("data/train.en.zst", "x\n");
  put("data/train.de", "y\n");
  EXPECT_EQ(names(find(data("data/train"), "en", "de").train), "train.en.zst train.de");
  EXPECT_EQ(names(find(data("data/train"), "de").train), "train.de train.en.zst");
  EXPECT_EQ(names(find(data("data/train"), "", "de").train), "train.en.zst train.de");
  EXPECT_PRED2(contains, error(data("data/train")), "input.source_language");
  EXPECT_PRED2(contains, error(data("data/train"), "en", "fr"), "not in both \"en\" and \"fr\"");
  EXPECT_PRED2(contains, error(data("data/other"), "en", "de"), "no such file or folder");
}

TEST_F(ParallelTextsTest, ALanguageMayHaveAnyName) {
  put("train.src", "x\n");
  put("train.tgt", "y\n");
  EXPECT_EQ(names(find(data("train"), "src", "tgt").train), "train.src train.tgt");
  EXPECT_EQ(names(find(data("train.src"), "src", "tgt").train), "train.src train.tgt");
  EXPECT_FALSE(looks_like_language("txt"));
  EXPECT_FALSE(looks_like_language(""));
  EXPECT_TRUE(looks_like_language("zh-CN"));
}

TEST_F(ParallelTextsTest, NamesInAFolderSayTheSplit) {
  for (const char* stem : {"train", "val", "test_2016_flickr", "test_2017_mscoco", "europarl"})
    for (const char* language : {".en.gz", ".de.gz", ".fr.gz"})
      put(("m/" + std::string(stem) + language).c_str(), "x\n");
  put("m/README.md", "about\n");
  put("m/train.json", "{}\n");
  const ParallelTexts texts = find(data("m"), "en", "de");
  EXPECT_EQ(names(texts.train), "europarl.en.gz europarl.de.gz, train.en.gz train.de.gz");
  EXPECT_EQ(names(texts.valid), "val.en.gz val.de.gz");
  ASSERT_EQ(texts.tests.size(), 2U);
  EXPECT_EQ(texts.tests[0].name, "test_2016_flickr");
  EXPECT_EQ(names(texts.tests[1]), "test_2017_mscoco.en.gz test_2017_mscoco.de.gz");
  EXPECT_EQ(problems_.count(), 0);
  EXPECT_FALSE(texts.train.division);
  EXPECT_PRED2(contains, error(data("m")), "there is text in de, en, fr");
  EXPECT_PRED2(contains, error(data("m"), "en"), "there is text in de, fr");
}

TEST_F(ParallelTextsTest, OneOfTwoLanguagesIsEnough) {
  for (const char* name : {"m/train.en", "m/train.de", "m/notes.sh"}) put(name, "x\n");
  const ParallelTexts from = find(data("m"), "en"), to = find(data("m"), "", "en");
  EXPECT_EQ(from.languages.target, "de");
  EXPECT_EQ(to.languages.source, "de");
  EXPECT_EQ(names(to.train), "train.de train.en");
}

TEST_F(ParallelTextsTest, NumberedSetsAreForTesting) {
  for (const char* test : {"test2016.en", "newstest2014-deen.de", "IWSLT.tst2013.en", "test.en", "test/a.en"})
    EXPECT_EQ(split_of_pairs(test), Split::test) << test;
  for (const char* valid : {"dev2010.en", "newsdev2016.ro", "valid.de", "val.en"})
    EXPECT_EQ(split_of_pairs(valid), Split::valid) << valid;
  EXPECT_EQ(split_of_pairs("train1.en"), Split::train);
  EXPECT_EQ(split_of_pairs("europarl-v7.de-en.en"), Split::unknown);
}

TEST_F(ParallelTextsTest, TablesInAFolder) {
  put("t/train.tsv", "x\ty\n");
  put("t/dev.jsonl.gz", "{}\n");
  put("t/test.csv", "x,y\n");
  const ParallelTexts texts = find(data("t"));
  EXPECT_EQ(names(texts.train), "train.tsv");
  EXPECT_EQ(names(texts.valid), "dev.jsonl.gz");
  ASSERT_EQ(texts.tests.size(), 1U);
  EXPECT_EQ(texts.tests[0].name, "test.csv");
}

TEST_F(ParallelTextsTest, OtherFilesForChoosingAndTesting) {
  put("train.en", "x\n");
  put("train.de", "y\n");
  put("sets/newstest2013.en", "x\n");
  put("sets/newstest2013.de", "y\n");
  put("hypotheses", "x\n");
  put("references", "y\n");
  DataOptions options = data("train.en");
  options.valid = path("sets").string();
  options.test = path("hypotheses").string();
  options.test_target = path("references").string();
  options.test_share = options.valid_share = 0.5;
  const ParallelTexts texts = find(options);
  EXPECT_EQ(names(texts.valid), "newstest2013.en newstest2013.de");
  ASSERT_EQ(texts.tests.size(), 1U);
  EXPECT_EQ(names(texts.tests[0]), "hypotheses references");
  EXPECT_FALSE(texts.train.division);
  options.test = "";
  EXPECT_PRED2(contains, error(options), "data.test_target is the translation of data.test");
}

TEST_F(ParallelTextsTest, WhatNobodyDividedIsDivided) {
  put("train.en", "x\n");
  put("train.de", "y\n");
  DataOptions options = data("train.en");
  options.valid_share = 0.25;
  options.test_share = 0.125;
  const ParallelTexts texts = find(options);
  ASSERT_TRUE(texts.train.division && texts.valid.division);
  ASSERT_EQ(texts.tests.size(), 1U);
  EXPECT_EQ(texts.tests[0].split, Split::test);
  EXPECT_EQ(texts.train.division->test_share, 0.125);
  EXPECT_NE(texts.train.fingerprint(), texts.valid.fingerprint());

  // Where a test set is there, nothing is taken for another.
  options.test = path("train").string();
  const ParallelTexts told = find(options);
  ASSERT_TRUE(told.train.division);
  EXPECT_EQ(told.train.division->test_share, 0.0);
  EXPECT_EQ(told.train.division->valid_share, 0.25);
  EXPECT_FALSE(told.tests[0].division);
}

TEST_F(ParallelTextsTest, OneSideAlone) {
  put("text.txt", "only one side, with a comma\n");
  EXPECT_PRED2(contains, error(data("text.txt")), "text.txt: one side of parallel text");
  put("lonely.en", "x\n");
  EXPECT_PRED2(contains, error(data("lonely.en")), "name it with data.target");
  put("m/train.en", "x\n");
  put("m/train.de", "x\n");
  put("m/test.en", "x\n");
  const ParallelTexts texts = find(data("m"), "en", "de");
  EXPECT_TRUE(texts.tests.empty());
  ASSERT_EQ(problems_.count(), 1);
  EXPECT_EQ(problems_.first()[0].where, "test.en");
  EXPECT_EQ(problems_.first()[0].what, "has no counterpart test.de");
  Problems strict(false);
  EXPECT_PRED2(contains, error_of([&] {
                 find_parallel_texts(data("m"), translation(TextUnits::words, "en", "de"), path("cache"),
                                     strict);
               }),
               "test.en: has no counterpart test.de");
}

TEST_F(ParallelTextsTest, TheSameFileTwice) {
  for (const char* name : {"m/train.en", "m/train.en.gz", "m/train.de"}) put(name, "x\n");
  find(data("m"), "en", "de");
  ASSERT_EQ(problems_.count(), 1);
  EXPECT_PRED2(contains, problems_.first()[0].what, "is there twice, as train.en");
}

TEST_F(ParallelTextsTest, PipesAreNotWaitedFor) {
  put("m/train.en", "x\n");
  put("m/train.de", "x\n");
  ASSERT_EQ(::mkfifo(path("m/valid.en").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(path("m/other").c_str(), 0600), 0);
  find(data("m"), "en", "de");
  ASSERT_EQ(problems_.count(), 1);
  EXPECT_EQ(problems_.first()[0].where, "valid.en");
  EXPECT_PRED2(contains, error(data("m/other")), "a pipe is read as standard input");
}

TEST_F(ParallelTextsTest, StandardInputIsATable) {
  put("pairs", "x\ty\n");
  const int kept = ::dup(STDIN_FILENO), file = ::open(path("pairs").c_str(), O_RDONLY);
  ASSERT_GE(::dup2(file, STDIN_FILENO), 0);
  ::close(file);
  DataOptions options = data("pairs");
  options.path = "-";
  const ParallelTexts texts = find(options);
  ::dup2(kept, STDIN_FILENO);
  ::close(kept);
  ASSERT_EQ(texts.train.files.size(), 1U);
  EXPECT_TRUE(texts.train.files[0].is_table());
  options.target = "x";
  EXPECT_PRED2(contains, error(options), "is standard input");
  options.target = "";
  options.test = "-";
  EXPECT_PRED2(contains, error(options), "standard input (-) can be one of");
}

TEST_F(ParallelTextsTest, Errors) {
  EXPECT_PRED2(contains, error(DataOptions()), "no data");
  EXPECT_PRED2(contains, error(data("missing"), "en", "de"), "missing: no such file or folder");
  fs::create_directories(path("empty"));
  EXPECT_PRED2(contains, error(data("empty"), "en", "de"),
               "no parallel text here; expected files like train.en");
  put("a.en", "x\n");
  DataOptions options = data("empty");
  options.target = path("a.en").string();
  EXPECT_PRED2(contains, error(options), "is a folder");
  EXPECT_PRED2(contains, error(data("a.en"), "en", "en"), "both languages are \"en\"");
}

}  // namespace
}  // namespace mega::data
