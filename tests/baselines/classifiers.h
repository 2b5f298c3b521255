// What every baseline of a classifier has to show.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "mega/baselines/model_builders.h"
#include "mega/ops/form.h"
#include "tests/compare.h"
#include "tests/counting_allocator.h"
#include "tests/gradcheck.h"
#include "tests/models/helpers.h"

namespace mega::testing {

// The fields that all kinds have.
template <class Options>
Options tiny_classifier() {
  Options options;
  options.vocabulary = 12;
  options.classes = 3;
  options.layers = 2;
  options.head = 10;
  options.width = 8;
  options.dropout = 0.0;
  return options;
}

inline std::shared_ptr<models::SequenceModel> model_with_large_weights(const ModelOptions& options) {
  torch::manual_seed(1);
  return with_large_weights(baselines::make_sequence_model(options));
}

// What stands at padding does not matter; with any_length, nor does how much of it there is.
inline void expect_padding_is_ignored(const ModelOptions& given, bool any_length = true) {
  const torch::NoGradGuard no_gradients;
  for (const ops::Form form : {ops::Form::reference, ops::Form::fused})
    for (const Pooling pooling : {Pooling::cls, Pooling::mean}) {
      const ops::FormGuard guard(form);
      ModelOptions options = given;
      sequence_options(options)->pooling = pooling;
      const auto model = model_with_large_weights(options);
      const torch::Tensor tokens = random_tokens(3, 40), sizes = lengths({40, 17, 33});
      const torch::Tensor logits = model->predict({{tokens, sizes}});
      torch::Tensor other = tokens.clone();
      other[1].slice(0, 17).copy_(13 - other[1].slice(0, 17));
      EXPECT_LT(difference(model->predict({{other, sizes}}), logits), 1e-6) << options.kind_name();
      if (!any_length) continue;
      const torch::Tensor alone = model->predict({{tokens.narrow(0, 1, 1).slice(1, 0, 17), {}}});
      EXPECT_LT(distance(logits.narrow(0, 1, 1), alone, 1.0), 2e-5) << options.kind_name();
    }
}

// Values and gradients of a training step; every parameter has one, but those whose names end so, on which
// nothing depends.
inline void expect_forms_agree(const ModelOptions& options, const std::vector<std::string>& without = {}) {
  const auto model = model_with_large_weights(options);
  model->train();
  const torch::Tensor tokens = random_tokens(2, 40), sizes = lengths({40, 31});
  std::vector<torch::Tensor> logits, gradients;
  for (const ops::Form form : {ops::Form::reference, ops::Form::fused}) {
    const ops::FormGuard guard(form);
    torch::manual_seed(2);
    for (torch::Tensor& parameter : model->parameters()) parameter.mutable_grad() = torch::Tensor();
    logits.push_back(model->predict({{tokens, sizes}}));
    logits.back().square().sum().backward();
    std::vector<torch::Tensor> all;
    for (const auto& item : model->named_parameters()) {
      const torch::Tensor& gradient = item.value().grad();
      const bool unused = std::any_of(without.begin(), without.end(),
                                      [&](const std::string& name) { return item.key().ends_with(name); });
      ASSERT_EQ(gradient.defined(), !unused) << options.kind_name() << " " << item.key();
      if (unused) continue;
      EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << item.key();
      EXPECT_GT(gradient.abs().max().item<double>(), 0.0) << options.kind_name() << " " << item.key();
      all.push_back(gradient.flatten());
    }
    gradients.push_back(torch::cat(all).clone());
  }
  EXPECT_LT(distance(logits[1], logits[0]), 5e-5) << options.kind_name();
  EXPECT_LT(distance(gradients[1], gradients[0]), 5e-4) << options.kind_name();
}

// Of the parameters of the first layer whose names contain `part`, by finite differences in double.
inline void expect_right_gradients(const ModelOptions& given, const std::string& part) {
  const ops::FormGuard guard(ops::Form::reference);
  ModelOptions options = given;
  sequence_options(options)->input = InputKind::samples;
  sequence_options(options)->layers = 1;
  const auto model = model_with_large_weights(options);
  model->to(torch::kFloat64);
  const torch::Tensor x = torch::randn({1, 40}, torch::kFloat64);
  std::vector<torch::Tensor> parameters;
  for (const auto& item : model->named_parameters())
    if (item.key().find(part) != std::string::npos) parameters.push_back(item.value());
  ASSERT_FALSE(parameters.empty());
  // Steps so small that they move nothing into another bucket.
  check_gradients(
      [&] {
        return std::vector<torch::Tensor>{model->predict({{x, {}}})};
      },
      parameters, 1e-6, 1e-5);
}

// The table of tensors (mega/config/tensor_info.h) matches the modules.
inline void expect_described(const ModelOptions& options) {
  const auto model = baselines::make_model(options);
  std::map<std::string, std::vector<int64_t>> expected, actual;
  for (const TensorInfo& tensor : options.kind().tensors()) expected[tensor.name] = tensor.shape;
  for (const auto& item : model->named_parameters()) actual[item.key()] = item.value().sizes().vec();
  for (const auto& item : model->named_buffers()) actual[item.key()] = item.value().sizes().vec();
  EXPECT_EQ(actual, expected) << options.kind_name();
}

// The estimate of a training step's memory; needs the CountingAllocator.
inline void expect_true_memory(const ModelOptions& options) {
  const auto model = baselines::make_sequence_model(options);
  const auto step = [&](int64_t length) {
    model->predict({{torch::randint(4, 200, {2, length}, torch::kInt64), {}}}).sum().backward();
  };
  step(16);  // allocates gradients before the measurement
  const double truth = CountingAllocator::growth([&] { step(1000); });
  const double estimate = options.kind().activation_bytes(1000, 2);
  EXPECT_NEAR(estimate / truth, 1.0, 0.3) << options.kind_name() << ": " << estimate << " and " << truth;
}

}  // namespace mega::testing
