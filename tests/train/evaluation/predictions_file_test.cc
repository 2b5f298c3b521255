#include "mega/train/evaluation/predictions_file.h"

#include <gtest/gtest.h>

#include "mega/base/files/stream.h"
#include "tests/train/helpers.h"

namespace mega::train {
namespace {

using namespace mega::testing;  // NOLINT: helpers of these tests

// Two texts with a comma and quotes in their names.
data::Part two_examples() {
  std::vector<data::Record> records(2);
  records[0].where = "a, \"b\".tsv:1";
  records[1].where = "c.tsv:2";
  records[0].label = "good";
  records[1].label = "bad";
  return data::Part(std::move(records));
}

Evaluation two_answers() {
  Evaluation evaluation;
  evaluation.examples = {0, 1};
  evaluation.answers = {{{0.25F, 0.75F}, 0.3, 1}, {{0.5F, 0.5F}, 0.7, 1}};
  evaluation.truth = {1, 0};
  return evaluation;
}

TEST(Predictions, AsATable) {
  const ScratchFolder folder;
  write_predictions(folder / "p.csv", two_answers(), two_examples(), {"bad", "good"});
  EXPECT_EQ(read_file(folder / "p.csv"),
            "input,label,prediction,probability of bad,probability of good\n"
            "\"a, \"\"b\"\".tsv:1\",good,good,0.25,0.75\n"
            "c.tsv:2,bad,bad,0.5,0.5\n");
}

TEST(Predictions, AsJsonLinesCompressed) {
  const ScratchFolder folder;
  write_predictions(folder / "p.jsonl.gz", two_answers(), two_examples(), {"bad", "good"});
  const std::vector<std::string> lines = split(read_stream(folder / "p.jsonl.gz"), '\n');
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1], R"({"input":"c.tsv:2","label":"bad","prediction":"bad",)"
                      R"("classes":[{"class":"bad","probability":0.5},{"class":"good","probability":0.5}]})");
}

TEST(Predictions, OfARegression) {
  const ScratchFolder folder;
  Evaluation evaluation = two_answers();
  evaluation.objective = Objective::regression;
  evaluation.targets = {1, 2, 3, 4};
  write_predictions(folder / "p.tsv", evaluation, two_examples(), {});
  EXPECT_EQ(read_file(folder / "p.tsv"),
            "input\ttarget_1\ttarget_2\tvalue_1\tvalue_2\n"
            "\"a, \"\"b\"\".tsv:1\"\t1\t2\t0.25\t0.75\n"
            "c.tsv:2\t3\t4\t0.5\t0.5\n");
  write_predictions(folder / "p.jsonl", evaluation, two_examples(), {});
  EXPECT_PRED2(contains, read_file(folder / "p.jsonl"), R"("targets":[1.0,2.0],"values":[0.25,0.75])");
}

}  // namespace
}  // namespace mega::train
