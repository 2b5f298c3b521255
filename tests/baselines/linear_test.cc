#include "mega/baselines/linear.h"

#include <gtest/gtest.h>

#include "mega/config/recipe/presets.h"
#include "mega/train/adamw.h"
#include "tests/base/helpers.h"
#include "tests/models/helpers.h"

namespace mega::baselines {
namespace {

using models::Sequences;
using testing::contains;
using testing::difference;
using testing::error_of;
using testing::lengths;
using testing::random_tokens;
using torch::Tensor;

LinearOptions tiny() {
  LinearOptions options;
  options.vocabulary = 12;
  options.classes = 3;
  options.buckets = 1 << 12;
  return options;
}

Linear with_random_weights(const LinearOptions& options) {
  Linear model(options);
  const torch::NoGradGuard guard;
  for (Tensor& parameter : model->parameters()) parameter.normal_();
  return model;
}

Tensor tokens(std::vector<int64_t> row) { return torch::tensor(row).unsqueeze(0); }

TEST(Linear, PaddingDoesNotChangeTheOutputs) {
  torch::manual_seed(1);
  Linear model = with_random_weights(tiny());
  const std::vector<int64_t> sizes = {5, 9, 1, 2};
  const Tensor batch = random_tokens(4, 9);
  std::vector<Tensor> alone;
  for (int64_t i = 0; i < 4; ++i)
    alone.push_back(model->predict({{batch.narrow(0, i, 1).slice(1, 0, sizes[static_cast<size_t>(i)]), {}}}));
  EXPECT_LT(difference(torch::cat(alone), model->predict({{batch, lengths(sizes)}})), 1e-5);
}

TEST(Linear, CountsNgramsWhereverTheyStand) {
  torch::manual_seed(2);
  LinearOptions options = tiny();
  const auto apart = [&](Linear& model, const Tensor& a, const Tensor& b) {
    return difference(model->predict({{a, {}}}), model->predict({{b, {}}}));
  };
  options.ngrams = 1;
  Linear single = with_random_weights(options);
  EXPECT_LT(apart(single, tokens({1, 2, 3, 4}), tokens({4, 3, 2, 1})), 1e-6) << "order does not matter";
  EXPECT_GT(apart(single, tokens({1, 2, 3, 4}), tokens({1, 2, 3, 5})), 1e-2);
  options.ngrams = 2;
  Linear pairs = with_random_weights(options);
  EXPECT_GT(apart(pairs, tokens({1, 2, 3, 4}), tokens({4, 3, 2, 1})), 1e-2) << "pairs have an order";
  // 1 2, 2 1, 1 2 and the same single tokens.
  EXPECT_LT(apart(pairs, tokens({1, 2, 1, 2}), tokens({1, 2, 1, 2})), 1e-6);
}

TEST(Linear, DocumentsOfAPairAreToldApart) {
  torch::manual_seed(3);
  LinearOptions options = tiny();
  options.documents = 2;
  Linear model = with_random_weights(options);
  const Sequences a{tokens({1, 2, 3}), {}}, b{tokens({4, 5}), {}};
  EXPECT_GT(difference(model->predict({a, b}), model->predict({b, a})), 1e-2);
  EXPECT_PRED2(contains, error_of([&] { model->predict({a}); }), "2 documents, not 1");
}

TEST(Linear, LearnsWhichTokenMatters) {
  torch::manual_seed(4);
  LinearOptions options = tiny();
  options.classes = 2;
  Linear model(options);
  train::AdamW optimizer(model->parameters(), TrainOptions());
  const Tensor batch = torch::randint(1, 11, {64, 20});
  const Tensor labels = (batch == 7).any(1).to(torch::kInt64);
  double loss = 0.0;
  for (int i = 0; i < 200; ++i) {
    optimizer.zero_gradients();
    const Tensor error = torch::nn::functional::cross_entropy(model->predict({{batch, {}}}), labels);
    error.backward();
    optimizer.step(0.05);
    loss = error.item<double>();
  }
  EXPECT_LT(loss, 0.1);
}

TEST(Linear, IsTheBaselineOfClassifiersOfTokens) {
  const ModelOptions texts = load_preset("text-small").model;
  const auto linear = baseline_of(texts, "linear");
  ASSERT_TRUE(linear.has_value());
  EXPECT_EQ(sequence_options(*linear)->vocabulary, sequence_options(texts)->vocabulary);
  EXPECT_EQ(std::get<LinearOptions>(linear->model).ngrams, 2);
  EXPECT_EQ(std::get<LinearOptions>(baseline_of(load_preset("lra-text").model, "linear")->model).ngrams, 5)
      << "bytes";
  EXPECT_EQ(
      std::get<LinearOptions>(baseline_of(load_preset("lra-retrieval").model, "linear")->model).documents, 2);
  EXPECT_FALSE(baseline_of(load_preset("lra-image").model, "linear").has_value()) << "pixels";
  EXPECT_FALSE(baseline_of(load_preset("enwik8").model, "linear").has_value()) << "a language model";
}

TEST(Linear, ReadsTokensOnly) {
  LinearOptions options = tiny();
  options.input = InputKind::samples;
  EXPECT_PRED2(contains, error_of([&] { validate(ModelOptions{options}); }), "reads tokens");
}

}  // namespace
}  // namespace mega::baselines
