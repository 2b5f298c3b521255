#include "mega/data/suspicions.h"

#include <gtest/gtest.h>

#include "mega/base/files/file.h"
#include "mega/base/strings.h"
#include "tests/base/helpers.h"

namespace mega::data {
namespace {

using testing::contains;
using testing::ScratchFolder;

struct Options {
  DataOptions data = {};
  InputOptions input = {TextInput(TextUnits::bytes, 0)};
  Objective objective = Objective::classification;
};

// All suspicions of a table, one per line.
std::string suspicions(const std::string& content, const Options& options = {}, const char* name = "a.csv") {
  const ScratchFolder folder;
  write_file(folder / name, content);
  DatasetRequest request;
  request.data = options.data;
  request.data.path = folder / name;
  request.data.skip_broken = true;
  request.input = options.input;
  request.objective = options.objective;
  return join(find_suspicions(load_dataset(request), request), "\n");
}

// `count` rows of two classes with different texts.
std::string rows(int count, const char* one = "pos", const char* other = "neg") {
  std::string content;
  for (int i = 0; i < count; ++i)
    content += std::string(i % 2 == 0 ? one : other) + ",the text of number " + std::to_string(i) + "\n";
  return content;
}

TEST(Suspicions, NoneInGoodData) {
  EXPECT_EQ(suspicions("label,text\n" + rows(100)), "");
  EXPECT_EQ(suspicions(rows(100, "1", "2")), "");
}

TEST(Suspicions, AHeaderTakenForAnExample) {
  const std::string text = suspicions("stars,opinion\n" + rows(100, "1", "2"));
  EXPECT_PRED2(contains, text,
               "a.csv:1: the first line looks like a header, and is used as an example of \"stars\"");
  EXPECT_PRED2(contains, text, "--set data.header=yes");
  EXPECT_PRED2(contains, suspicions("mood,comment\n" + rows(100)), "looks like a header");
  EXPECT_PRED2(contains, suspicions("rating,what\n" + rows(100)), "looks like a header");
  Options options;
  options.data.header = Header::yes;
  options.data.text_column = "2";
  options.data.label_column = "1";
  EXPECT_EQ(suspicions("stars,opinion\n" + rows(100, "1", "2"), options), "");
  EXPECT_FALSE(contains(suspicions("odd,what\n" + rows(100)), "header")) << "some class, seldom seen";
}

TEST(Suspicions, AsManyClassesAsExamples) {
  std::string content = "label,text\n";
  for (int i = 0; i < 50; ++i)
    content += "user" + std::to_string(i) + ",some words " + std::to_string(i) + "\n";
  const std::string text = suspicions(content);
  EXPECT_PRED2(contains, text, "50 classes for 50 examples (\"user0\", \"user1\", \"user10\" and 47 more)");
  EXPECT_PRED2(contains, text, "data.label_column");
  EXPECT_FALSE(contains(text, "single example")) << "once is enough";
}

TEST(Suspicions, AClassOfOneExample) {
  EXPECT_PRED2(contains, suspicions("label,text\nrare,once\n" + rows(100)),
               "1 class has a single example (\"rare\"), which cannot be both learnt and tested");
}

TEST(Suspicions, NumbersTakenForClasses) {
  std::string content = "label,text\n";
  for (int i = 0; i < 100; ++i) content += std::to_string(i % 5) + ".5,words " + std::to_string(i) + "\n";
  EXPECT_PRED2(contains, suspicions(content), "labels such as \"0.5\" are numbers");
  EXPECT_PRED2(contains, suspicions(content), "model.objective=regression");
  Options options;
  options.objective = Objective::regression;
  EXPECT_EQ(suspicions(content, options), "");
  std::string amounts = "label,text\n";
  for (int i = 0; i < 100; ++i) amounts += std::to_string(i / 3) + ",words " + std::to_string(i) + "\n";
  EXPECT_PRED2(contains, suspicions(amounts), "34 different whole numbers are taken for classes");
}

TEST(Suspicions, MissingSplits) {
  Options options;
  options.data.valid_share = 0;
  options.data.test_share = 0;
  const std::string text = suspicions("label,text\n" + rows(100), options);
  EXPECT_PRED2(contains, text, "no validation examples");
  EXPECT_PRED2(contains, text, "no test examples");
  EXPECT_PRED2(contains, text, "--set data.valid_share=0.1");
  options.data.test_share = 1;
  EXPECT_PRED2(contains, suspicions("label,text\n" + rows(100), options), "no training examples");
}

TEST(Suspicions, OneClass) {
  EXPECT_PRED2(contains, suspicions("label,text\n" + rows(100, "yes", "yes")),
               "all examples have the label \"yes\"");
}

TEST(Suspicions, ClassesThatOnlyLookDifferent) {
  EXPECT_PRED2(contains, suspicions("label,text\n" + rows(100, "Good", "good")),
               "the classes \"Good\", \"good\" differ");
}

TEST(Suspicions, TextsThatAreNone) {
  std::string same = "label,text\n", ids = "label,text\n", empty = "label,text\n";
  for (int i = 0; i < 100; ++i) {
    const std::string label = i % 2 == 0 ? "pos," : "neg,";
    same += label + "nan\n";
    ids += label + "tt00" + std::to_string(i) + "\n";
    empty += label + (i < 50 ? "" : "words " + std::to_string(i)) + "\n";
  }
  EXPECT_PRED2(contains, suspicions(same), "all inputs are the same");
  EXPECT_PRED2(contains, suspicions(ids), "look like ids: set data.text_column");
  EXPECT_PRED2(contains, suspicions(empty),
               "50 of 100 examples cannot be used, the first at a.csv:2: the text is empty");
}

TEST(Suspicions, ExamplesOfTheTestInTraining) {
  std::string content = "label,text\n";
  for (int i = 0; i < 100; ++i)
    content += std::string(i % 2 == 0 ? "pos" : "neg") + ",words " + std::to_string(i % 4) + "\n";
  EXPECT_PRED2(contains, suspicions(content), "valid or test examples are also in the training split");
}

TEST(Suspicions, SeriesWithARowPerTimeStep) {
  std::string content = "id,time,x\n";
  for (int i = 0; i < 100; ++i)
    content += std::string(i < 50 ? "a" : "b") + "," + std::to_string(i) + ",0.5\n";
  Options options;
  options.input = {SeriesInput{}};
  EXPECT_PRED2(contains, suspicions(content, options),
               "if the table has a row per time step, set data.id_column");
}

TEST(Suspicions, NamesCannotFakeLines) {
  EXPECT_FALSE(contains(suspicions("label,text\n\"a\nb\x1b[2J\",once\n" + rows(100)), "\x1b"));
}

}  // namespace
}  // namespace mega::data
