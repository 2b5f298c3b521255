#include "mega/train/evaluation/evaluation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/train/helpers.h"

namespace mega::train {
namespace {

using namespace mega::testing;  // NOLINT: helpers of these tests

Evaluation three_of_four() {
  Evaluation evaluation;
  evaluation.answers = {
      {{0.9F, 0.1F}, 0.1, 5}, {{0.2F, 0.8F}, 0.2, 9}, {{0.6F, 0.4F}, 0.9, 7}, {{0.3F, 0.7F}, 0.4, 3}};
  evaluation.truth = {0, 1, 1, 1};
  evaluation.examples = {0, 1, 2, 3};
  return evaluation;
}

TEST(Evaluation, FiguresOfAClassificationByHand) {
  const Scores scores = three_of_four().scores();
  EXPECT_TRUE(scores.higher_is_better);
  ASSERT_EQ(scores.metrics.size(), 4u);
  EXPECT_EQ(scores.metrics[0].name, "accuracy");
  EXPECT_DOUBLE_EQ(scores.metrics[0].value, 0.75);
  EXPECT_NEAR(scores.metrics[0].uncertainty, 1.96 * std::sqrt(0.75 * 0.25 / 4), 1e-12);
  EXPECT_EQ(scores.metrics[1].name, "macro-F1");
  EXPECT_NEAR(scores.metrics[1].value, (2.0 / 3 + 4.0 / 5) / 2, 1e-12);
  EXPECT_EQ(scores.metrics[2].name, "AUC");
  EXPECT_DOUBLE_EQ(scores.metrics[2].value, 1.0) << "the three of the second class score highest";
  EXPECT_EQ(scores.metrics[3].name, "loss");
  EXPECT_DOUBLE_EQ(scores.metrics[3].value, 0.4);
  const double variance = (0.09 + 0.04 + 0.25 + 0.0) / 4;
  EXPECT_NEAR(scores.metrics[3].uncertainty, 1.96 * std::sqrt(variance / 4), 1e-12);
  EXPECT_EQ(three_of_four().confusion(2), (std::vector<std::vector<int64_t>>{{1, 0}, {1, 2}}));
  EXPECT_TRUE(Evaluation().scores().metrics.empty());
}

TEST(Evaluation, PicturesOfManyClassesHaveATopFive) {
  Evaluation evaluation;
  const std::vector<float> outputs = {0.3F, 0.2F, 0.2F, 0.1F, 0.1F, 0.06F, 0.04F};
  for (const int64_t truth : {0, 1, 4, 5}) {
    evaluation.answers.push_back({outputs, 0.0, 1});
    evaluation.truth.push_back(truth);
  }
  const auto names = [&] {
    std::vector<std::string> all;
    for (const Metric& metric : evaluation.scores().metrics) all.push_back(metric.name);
    return all;
  };
  EXPECT_EQ(names(), (std::vector<std::string>{"accuracy", "macro-F1", "loss"})) << "texts";
  evaluation.input.input = ImageInput{};
  EXPECT_EQ(names(), (std::vector<std::string>{"accuracy", "macro-F1", "top-5", "loss"}));
  const Metric top = evaluation.scores().metrics[2];
  EXPECT_DOUBLE_EQ(top.value, 0.75);
  EXPECT_NEAR(top.uncertainty, 1.96 * std::sqrt(0.75 * 0.25 / 4), 1e-12);
  EXPECT_DOUBLE_EQ(evaluation.scores().metrics[0].value, 0.25);
  EXPECT_EQ(evaluation.answers[0].rank(2), 3) << "after its equal";
  EXPECT_EQ(Answer{std::vector<float>(7, 0.1F)}.rank(6), 7) << "a model that says nothing";
}

TEST(Evaluation, AreaUnderTheCurveByHand) {
  Evaluation evaluation;
  const auto add = [&](float second, int64_t truth) {
    evaluation.answers.push_back({{1 - second, second}, 0.0, 1});
    evaluation.truth.push_back(truth);
  };
  add(0.1F, 0);
  add(0.4F, 0);
  EXPECT_FALSE(evaluation.area_under_curve().has_value()) << "examples of one class only";
  add(0.35F, 1);
  add(0.8F, 1);
  EXPECT_DOUBLE_EQ(*evaluation.area_under_curve(), 0.75);  // 3 of 4 pairs
  add(0.4F, 1);                                            // equal to one of the first class: half a pair
  EXPECT_DOUBLE_EQ(*evaluation.area_under_curve(), 4.5 / 6);
  for (Answer& answer : evaluation.answers) answer.outputs.push_back(0.0F);
  EXPECT_FALSE(evaluation.area_under_curve().has_value()) << "three classes";
}

TEST(Evaluation, FewerExamplesAreSpreadOverAll) {
  const Recipe recipe = letters_recipe();
  const data::Dataset dataset = letters_dataset();
  HookedTask task(recipe, dataset);
  const auto look = [&](int64_t most) {
    EvaluationOptions options;
    options.max_examples = most;
    return evaluate(task.sequence_model(), dataset.train, task.encoder(), 1, options);
  };
  const Evaluation all = look(0), some = look(7);
  ASSERT_EQ(some.answers.size(), 7u);
  ASSERT_EQ(some.truth.size(), 7u);
  for (size_t i = 0; i < some.examples.size(); ++i) {
    const auto example = static_cast<size_t>(some.examples[i]);
    EXPECT_EQ(some.examples[i], static_cast<int64_t>(i) * dataset.train.size() / 7);
    EXPECT_EQ(some.truth[i], all.truth[example]);
    EXPECT_LT(std::abs(some.answers[i].loss - all.answers[example].loss), 1e-5);
  }
  EXPECT_EQ(look(1'000'000).answers.size(), all.answers.size());
}

TEST(Evaluation, FiguresOfARegressionByHand) {
  Evaluation evaluation;
  evaluation.objective = Objective::regression;
  evaluation.targets = {0, 2, 4};
  evaluation.answers = {{{1}, 1.0, 1}, {{2}, 0.0, 1}, {{2}, 4.0, 1}};
  const Scores scores = evaluation.scores();
  EXPECT_FALSE(scores.higher_is_better);
  ASSERT_EQ(scores.metrics.size(), 3u);
  EXPECT_EQ(scores.metrics[0].name, "RMSE");
  EXPECT_NEAR(scores.metrics[0].value, std::sqrt(5.0 / 3), 1e-12);
  EXPECT_EQ(scores.metrics[1].name, "MAE");
  EXPECT_NEAR(scores.metrics[1].value, 1.0, 1e-12);
  EXPECT_EQ(scores.metrics[2].name, "R²");
  EXPECT_NEAR(scores.metrics[2].value, 1.0 - (5.0 / 3) / (8.0 / 3), 1e-12);
}

// Outputs far apart do not explain each other's distance.
TEST(Evaluation, EachOutputIsExplainedAboutItsOwnMean) {
  Evaluation evaluation;
  evaluation.objective = Objective::regression;
  evaluation.targets = {0, 100, 2, 102};
  evaluation.answers = {{{1, 101}, 1.0, 1}, {{1, 101}, 1.0, 1}};  // their means, always
  EXPECT_NEAR(evaluation.scores().metrics[2].value, 0.0, 1e-12);
}

TEST(Evaluation, FiguresAsText) {
  EXPECT_EQ(metric_text({"accuracy", 0.8123, 0.0051, true}), "accuracy 81.2 % ± 0.5");
  EXPECT_EQ(metric_text({"loss", 0.5, 0.0, false}), "loss 0.5000");
}

TEST(Scores, AsJsonHaveNamesForPrograms) {
  const Scores scores{
      {{"macro-F1", 0.5, 0.0, true}, {"R²", 0.25, 0.125, false}, {"bits per byte", 2, 0, false}}, true};
  EXPECT_EQ(to_json(scores).dump(), R"({"macro_f1":0.5,"r2":0.25,"r2_ci95":0.125,"bits_per_byte":2.0})");
}

TEST(Scores, BetterIsJudgedByTheFirstFigure) {
  const auto scores = [](double value, bool higher) {
    return Scores{{{"x", value, 0.0, false}, {"y", -value, 0.0, false}}, higher};
  };
  EXPECT_TRUE(scores(2, true).better_than(scores(1, true)));
  EXPECT_FALSE(scores(1, true).better_than(scores(1, true)));
  EXPECT_TRUE(scores(1, false).better_than(scores(2, false)));
  EXPECT_TRUE(scores(1, true).better_than({}));
  EXPECT_FALSE(Scores().better_than(scores(1, true)));
  const double nan = std::nan("");
  EXPECT_FALSE(scores(nan, true).better_than({}));
  EXPECT_TRUE(scores(1, true).better_than(scores(nan, true)));
}

TEST(Evaluate, BatchesDoNotChangeAnswers) {
  const Recipe recipe = letters_recipe();
  const data::Dataset dataset = letters_dataset();
  HookedTask task(recipe, dataset);
  task.model().train();
  int64_t done = 0;
  EvaluationOptions options;
  options.progress = [&](int64_t count) { done = count; };
  const Evaluation together = evaluate(task.sequence_model(), dataset.valid, task.encoder(), 1, options);
  EXPECT_EQ(done, 30);
  EXPECT_TRUE(task.model().is_training()) << "left as it was";
  options.batch_positions = 1;
  const Evaluation alone = evaluate(task.sequence_model(), dataset.valid, task.encoder(), 1, options);
  int64_t positions = 0;
  for (size_t i = 0; i < 30; ++i) {
    const Answer& answer = together.answers[i];
    EXPECT_NEAR(answer.outputs[0], alone.answers[i].outputs[0], 1e-5);
    EXPECT_NEAR(answer.outputs[0] + answer.outputs[1], 1.0, 1e-5);
    const auto label = static_cast<size_t>(dataset.valid.labels[i]);
    EXPECT_NEAR(answer.loss, -std::log(answer.outputs[label]), 1e-4);
    EXPECT_EQ(answer.length, std::ssize(dataset.valid.get(static_cast<int64_t>(i)).bytes) + 1) << "and </s>";
    positions += answer.length;
  }
  EXPECT_EQ(together.positions, positions);
  options.max_examples = 7;
  const Evaluation some = evaluate(task.sequence_model(), dataset.valid, task.encoder(), 1, options);
  EXPECT_EQ(some.answers.size(), 7u);
  EXPECT_EQ(some.truth.size(), 7u);
  const auto last = static_cast<size_t>(some.examples[6]);
  EXPECT_NEAR(some.answers[6].outputs[0], together.answers[last].outputs[0], 1e-5);
}

// What `mega predict` does: nothing is known of the input but the input.
TEST(Evaluate, AnswersWithoutTruth) {
  Recipe recipe = letters_recipe();
  data::Dataset dataset = letters_dataset();
  data::Part unknown = dataset.valid;
  unknown.labels.clear();
  {
    HookedTask task(recipe, dataset);
    const Evaluation known = evaluate(task.sequence_model(), dataset.valid, task.encoder(), 1, {});
    const Evaluation said = evaluate(task.sequence_model(), unknown, task.encoder(), 1, {});
    EXPECT_EQ(said.answers[3].outputs, known.answers[3].outputs);
  }
  classifier(recipe).objective = Objective::regression;
  classifier(recipe).classes = 1;
  dataset.classes.clear();
  dataset.outputs = 1;
  for (data::Part* part : {&dataset.train, &dataset.valid}) {
    for (const int64_t label : part->labels)
      part->targets.push_back(500.0F + 3.0F * static_cast<float>(label));
    part->labels.clear();
  }
  HookedTask task(recipe, dataset);
  const Evaluation known = evaluate(task.sequence_model(), dataset.valid, task.encoder(), 1, {});
  const Evaluation said = evaluate(task.sequence_model(), unknown, task.encoder(), 1, {});
  EXPECT_EQ(said.objective, Objective::regression);
  EXPECT_EQ(said.answers[3].outputs, known.answers[3].outputs);
  EXPECT_NEAR(said.answers[3].outputs[0], 501.0, 10.0) << "in the units of the targets";
}

TEST(Describe, WorstAndLongestFirst) {
  data::Part part = letters("x", 4);
  Report report;
  describe(three_of_four(), part, {"a", "b"}, report);
  ASSERT_EQ(report.worst.size(), 4u);
  EXPECT_EQ(report.worst[0].where, "x:3");
  EXPECT_EQ(report.worst[0].predicted, "a");
  EXPECT_NEAR(report.worst[0].probability, 0.6, 1e-6);
  EXPECT_EQ(report.longest[0].where, "x:2");
  EXPECT_EQ(report.confusion.size(), 2u);
  EXPECT_TRUE(report.confused.empty()) << "texts are not shown as pictures";
}

TEST(Describe, PicturesOfConfusedClasses) {
  const data::Part part = halves("x", 4);
  Evaluation evaluation = three_of_four();
  evaluation.answers[3] = {{0.8F, 0.2F}, 1.6, 3};
  evaluation.input = halves_recipe().input;
  Report report;
  describe(evaluation, part, {"left", "right"}, report);
  ASSERT_EQ(report.confused.size(), 1u);
  const Report::ConfusedClasses& pair = report.confused[0];
  EXPECT_EQ(pair.truth, "right");
  EXPECT_EQ(pair.predicted, "left");
  EXPECT_EQ(pair.count, 2);
  EXPECT_NEAR(pair.share, 2.0 / 3, 1e-12);
  ASSERT_EQ(pair.examples.size(), 2u);
  EXPECT_EQ(pair.examples[0].where, "x:4") << "the worst first";
  EXPECT_EQ(pair.examples[0].picture.width, 12);
  EXPECT_TRUE(pair.examples[0].picture.valid());
  EXPECT_TRUE(report.longest.empty()) << "all have the same length";
  EXPECT_EQ(report.worst[0].length, 0);
}

// Layers see patches, so that many pictures are read at a time.
TEST(Evaluate, ManyPicturesAtATime) {
  Recipe recipe = halves_recipe();
  const data::Dataset dataset = halves_dataset();
  fit_recipe(recipe, dataset);
  HookedTask task(recipe, dataset);
  models::SequenceModel& model = task.sequence_model();
  EXPECT_GE(model.positions_together() / (224 * 224), 16);
  EvaluationOptions options;
  int64_t batches = 0;
  options.progress = [&](int64_t) { ++batches; };
  options.threads = 1;
  const Evaluation one = evaluate(model, dataset.valid, task.encoder(), 1, options);
  EXPECT_EQ(batches, 1);
  options.threads = 3;
  const Evaluation three = evaluate(model, dataset.valid, task.encoder(), 1, options);
  for (size_t i = 0; i < 40; ++i) EXPECT_EQ(one.answers[i].outputs, three.answers[i].outputs);
}

}  // namespace
}  // namespace mega::train
