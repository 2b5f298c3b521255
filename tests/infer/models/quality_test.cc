#include "mega/infer/models/quality.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mega/base/files/file.h"
#include "mega/data/corpus/corpus.h"
#include "mega/data/encoder.h"
#include "mega/infer/generation/log_probability.h"
#include "mega/infer/models/classifier.h"
#include "mega/infer/session.h"
#include "mega/text/tokens.h"
#include "tests/base/helpers.h"
#include "tests/infer/tiny_model.h"

namespace mega::infer {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

TEST(CompareLogits, IsTheDivergenceOfTwoDistributions) {
  const std::vector<float> half = {0.0f, 0.0f}, quarter = {0.0f, std::log(3.0f)};
  const double expected = 0.5 * std::log(0.5 / 0.25) + 0.5 * std::log(0.5 / 0.75);
  EXPECT_NEAR(compare_logits(half, quarter).divergence, expected, 1e-7);
  EXPECT_NE(compare_logits(quarter, half).divergence, compare_logits(half, quarter).divergence);
  EXPECT_EQ(compare_logits(quarter, quarter).divergence, 0.0);
  EXPECT_EQ(compare_logits(quarter, quarter).same, 1.0);
  EXPECT_EQ(compare_logits(quarter, std::vector<float>{1.0f, 0.0f}).same, 0.0);
  // Logits are defined up to a constant, however large.
  EXPECT_NEAR(compare_logits(half, std::vector<float>{1000.0f, 1000.0f + std::log(3.0f)}).divergence,
              expected, 1e-4);
}

TEST(CompareLogits, RejectsInvalidDistributions) {
  const std::vector<float> two = {0.0f, 1.0f}, three = {0.0f, 1.0f, 2.0f};
  EXPECT_PRED2(contains, error_of([&] { compare_logits(two, three); }), "2 and 3 choices");
  EXPECT_PRED2(contains, error_of([&] { compare_logits({}, {}); }), "0 and 0 choices");
  const std::vector<float> none = {0.0f, std::nanf("")};
  EXPECT_PRED2(contains, error_of([&] { compare_logits(two, none); }), "are not finite");
  const std::vector<float> infinite = {0.0f, std::numeric_limits<float>::infinity()};
  EXPECT_PRED2(contains, error_of([&] { compare_logits(infinite, two); }), "are not finite");
}

class Quality : public ::testing::Test {
 protected:
  std::shared_ptr<const LanguageModel> language_model(uint32_t seed, int64_t vocabulary = 264) {
    LanguageModelOptions options = testing::tiny_language_model();
    options.vocabulary = vocabulary;
    const Signature signature = testing::byte_signature();
    testing::write_random_model(folder_ / "model", {options}, seed, &signature);
    return LanguageModel::open(folder_ / "model");
  }
  std::shared_ptr<const Classifier> classifier(uint32_t seed, const ClassifierOptions& options,
                                               const Signature& signature) {
    testing::write_random_model(folder_ / "model", {options}, seed, &signature);
    return Classifier::open(folder_ / "model");
  }

  ScratchFolder folder_;
  ThreadPool pool_{2};
};

// More than one piece.
std::string long_text() {
  std::string text;
  for (int i = 0; i < 180; ++i) text += "line " + std::to_string(i * i % 97) + "\n";
  return text;
}

TEST_F(Quality, LanguageModelMetricsEqualThoseOfASession) {
  const auto before = language_model(1), after = language_model(2);
  write_file(folder_ / "text", long_text());
  const data::TokenView text = data::tokenize_once(folder_ / "text", before->tokenizer());
  ASSERT_GT(text.size(), 600);
  int64_t done = 0;
  ComparisonOptions options;
  options.progress = [&](int64_t count) { done = count; };
  const TextQuality quality = compare_on_text(*before, *after, text, pool_, options);
  EXPECT_EQ(done, text.size());

  std::vector<int32_t> tokens(static_cast<size_t>(text.size()));
  text.file->copy(text.begin, text.size(), tokens.data());
  const auto threads = std::make_shared<ThreadPool>(1);
  Session first(before, threads), second(after, threads);
  double nats_before = 0.0, nats_after = 0.0, divergence = 0.0, same = 0.0;
  int32_t last = kEnd;
  for (const int32_t token : tokens) {
    first.feed({&last, 1});
    second.feed({&last, 1});
    last = token;
    nats_before -= log_probability(first.logits(), last);
    nats_after -= log_probability(second.logits(), last);
    const Agreement one = compare_logits(first.logits(), second.logits());
    divergence += one.divergence;
    same += one.same;
  }
  const double count = static_cast<double>(text.size());
  EXPECT_NEAR(quality.before.nats_per_token.value, nats_before / count, 1e-4);
  EXPECT_NEAR(quality.after.nats_per_token.value, nats_after / count, 1e-4);
  EXPECT_NEAR(quality.agreement.divergence, divergence / count, 1e-4);
  EXPECT_NEAR(quality.agreement.same, same / count, 2.5 / count);  // rounding may break near-ties
  EXPECT_EQ(quality.before.counts.bytes, text.counts.bytes);
  EXPECT_GT(quality.agreement.divergence, 0.01);
}

TEST_F(Quality, ModelAgreesWithItself) {
  const auto model = language_model(1);
  write_file(folder_ / "text", long_text());
  const data::TokenView text = data::tokenize_once(folder_ / "text", model->tokenizer());
  ComparisonOptions options;
  options.limit = text.size() / 2;
  const TextQuality quality = compare_on_text(*model, *model, text, pool_, options);
  EXPECT_EQ(quality.before.tokens, options.limit);
  EXPECT_NEAR(static_cast<double>(quality.before.counts.bytes), static_cast<double>(text.counts.bytes) / 2,
              1);
  EXPECT_EQ(quality.before.bits_per_byte.value, quality.after.bits_per_byte.value);
  EXPECT_EQ(quality.agreement.divergence, 0.0);
  EXPECT_EQ(quality.agreement.same, 1.0);

  const auto larger = language_model(1, 265);
  EXPECT_PRED2(contains, error_of([&] { compare_on_text(*model, *larger, text, pool_, {}); }),
               "different vocabularies");
  EXPECT_PRED2(contains, error_of([&] { compare_on_text(*model, *model, {}, pool_, {}); }), "no text");
}

TEST_F(Quality, ClassifierMetricIsAccuracy) {
  const ClassifierOptions options = testing::tiny_classifier();
  Signature signature;
  signature.classes = {"a", "b", "c"};
  const auto before = classifier(1, options, signature), after = classifier(2, options, signature);
  const data::Encoder encoder(signature);
  Workspace work;
  const auto label = [&](const Classifier& model, const data::Record& record) {
    const data::Sequence sequence = encoder.encode(record);
    const SequenceView view{sequence.tokens, sequence.values, sequence.length};
    const auto outputs = model.outputs({&view, 1}, {pool_, work});
    return std::max_element(outputs.begin(), outputs.end()) - outputs.begin();
  };
  // Labels are what the first model says, but for every fourth.
  std::vector<data::Record> records;
  std::vector<int64_t> labels;
  double right_before = 0.0, right_after = 0.0, same = 0.0;
  for (int i = 0; i < 20; ++i) {
    data::Record record;
    record.bytes = long_text().substr(static_cast<size_t>(i * 10), 30);
    const int64_t first = label(*before, record), second = label(*after, record);
    labels.push_back(i % 4 == 0 ? (first + 1) % 3 : first);
    right_before += first == labels.back() ? 1 : 0;
    right_after += second == labels.back() ? 1 : 0;
    same += first == second ? 1 : 0;
    records.push_back(std::move(record));
  }
  data::Part part(std::move(records));
  part.labels = std::move(labels);
  const ExampleQuality quality = compare_on_examples(*before, *after, part, pool_, {});
  EXPECT_EQ(quality.examples, 20);
  EXPECT_DOUBLE_EQ(quality.before, right_before / 20);
  EXPECT_DOUBLE_EQ(quality.before, 0.75);
  EXPECT_DOUBLE_EQ(quality.after, right_after / 20);
  ASSERT_TRUE(quality.agreement.has_value());
  EXPECT_DOUBLE_EQ(quality.agreement->same, same / 20);
  EXPECT_GT(quality.agreement->divergence, 0.0);
  EXPECT_EQ(compare_on_examples(*before, *before, part, pool_, {}).agreement->divergence, 0.0);

  ComparisonOptions first_one;
  first_one.limit = 1;
  EXPECT_EQ(compare_on_examples(*before, *after, part, pool_, first_one).before, 0.0);
  EXPECT_PRED2(contains, error_of([&] { compare_on_examples(*before, *after, {}, pool_, {}); }),
               "no examples");
}

TEST_F(Quality, RegressionMetricIsRmse) {
  ClassifierOptions options = testing::tiny_classifier();
  options.input = InputKind::series;
  options.objective = Objective::regression;
  options.classes = 2;
  Signature signature;
  signature.input.input = SeriesInput{.standardize = Standardize::none};
  signature.target_mean = {5.0f, 0.0f};
  signature.target_deviation = {2.0f, 1.0f};
  const auto before = classifier(1, options, signature), after = classifier(2, options, signature);
  data::Record record;
  record.values = {1.0f, 2.0f, 3.0f};
  const SequenceView view{{}, record.values, 3};
  Workspace work;
  const auto said = before->outputs({&view, 1}, {pool_, work});
  data::Part part({record});
  part.targets = {said[0] * 2 + 5 + 3, said[1] + 4};  // wrong by 3 and by 4
  const ExampleQuality quality = compare_on_examples(*before, *after, part, pool_, {});
  EXPECT_NEAR(quality.before, std::sqrt((9.0 + 16.0) / 2), 1e-4);
  EXPECT_NE(quality.after, quality.before);
  EXPECT_FALSE(quality.agreement.has_value());
}

TEST_F(Quality, ErrorsNameTheInvalidExample) {
  Signature signature;
  signature.classes = {"a", "b", "c"};
  ClassifierOptions options = testing::tiny_classifier();
  const auto model = classifier(1, options, signature);
  options.classes = 2;
  signature.classes.pop_back();
  const auto other = classifier(1, options, signature);
  EXPECT_PRED2(contains, error_of([&] { compare_on_examples(*model, *other, {}, pool_, {}); }),
               "different tasks");
  options.input = InputKind::series;
  signature.input.input = SeriesInput{};
  const auto series = classifier(1, options, signature);
  data::Record record;
  record.where = "data.tsv:17";
  data::Part part({record});
  part.labels = {0};
  EXPECT_PRED2(contains, error_of([&] { compare_on_examples(*series, *series, part, pool_, {}); }),
               "data.tsv:17: ");
}

}  // namespace
}  // namespace mega::infer
