#include "mega/infer/models/answer.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "mega/infer/models/classifier.h"
#include "mega/infer/models/language_model.h"
#include "tests/base/helpers.h"
#include "tests/infer/tiny_model.h"

namespace mega::infer {
namespace {

using testing::contains;
using testing::error_of;

Signature classes(std::vector<std::string> names) {
  Signature signature;
  signature.classes = std::move(names);
  return signature;
}

TEST(Answer, ProbabilitiesOfClasses) {
  const auto probabilities = to_answer(std::array{0.0F, std::log(3.0F)}, classes({"a", "b"}));
  ASSERT_EQ(probabilities.size(), 2u);
  EXPECT_NEAR(probabilities[0], 0.25, 1e-6);
  EXPECT_NEAR(probabilities[1], 0.75, 1e-6);
}

TEST(Answer, LargeLogitsDoNotOverflow) {
  const auto probabilities = to_answer(std::array{1e30F, -1e30F, 1e30F}, classes({"a", "b", "c"}));
  EXPECT_EQ(probabilities, (std::vector<float>{0.5F, 0.0F, 0.5F}));
}

TEST(Answer, NumbersInUnitsOfTheTrainingData) {
  Signature signature;
  signature.target_mean = {10.0F, -1.0F};
  signature.target_deviation = {2.0F, 0.5F};
  EXPECT_EQ(to_answer(std::array{1.5F, -2.0F}, signature), (std::vector<float>{13.0F, -2.0F}));
}

TEST(Answer, OutputsMustMatchTheSignature) {
  const auto ask = [] { to_answer(std::array{1.0F, 2.0F, 3.0F}, classes({"a", "b"})); };
  EXPECT_PRED2(contains, error_of(ask), "3 outputs");
  EXPECT_PRED2(contains, error_of([] { to_answer({}, Signature()); }), "0 outputs");
}

TEST(Answer, WhatIsNotFiniteIsNoAnswer) {
  const float nan = std::nanf(""), infinite = INFINITY;
  Signature numbers;
  numbers.target_mean = {10.0F};
  numbers.target_deviation = {3e38F};
  for (const float bad : {nan, infinite, -infinite}) {
    EXPECT_PRED2(contains, error_of([&] {
                   to_answer(std::array{0.0F, bad}, classes({"a", "b"}));
                 }),
                 "outputs are not finite");
    EXPECT_PRED2(contains, error_of([&] { to_answer(std::array{bad}, numbers); }), "outputs are not finite");
  }
  EXPECT_PRED2(contains, error_of([&] { to_answer(std::array{1e10F}, numbers); }), "outputs are not finite");
}

TEST(Answer, ABrokenModelNamesTheExample) {
  const testing::ScratchFolder folder;
  const ModelOptions options{testing::tiny_classifier()};
  const testing::RandomWeights weights(options, 1);
  std::vector<TensorView> tensors = weights.tensors();
  const std::vector<float> nan(16, NAN);
  for (TensorView& tensor : tensors)
    if (tensor.name == "classifier.0.0.bias") tensor.data = std::as_bytes(std::span(nan));
  Signature signature = classes({"a", "b", "c"});
  signature.input.input = TextInput{};
  write_model_file(folder / "model", options, tensors, signature_metadata(signature));
  const auto model = Classifier::open(folder / "model");
  ThreadPool pool(1);
  Workspace work;
  data::Record record;
  record.where = "texts.csv:3";
  record.bytes = "some text";
  EXPECT_PRED2(contains, error_of([&] {
                 outputs_of(*model, model->encoder(), record, {pool, work});
               }),
               "texts.csv:3: the model's outputs are not finite");
}

TEST(Answer, SurplusTensorsAreRefused) {
  const testing::ScratchFolder folder;
  const auto error = [&](const ModelOptions& options, auto open) {
    const testing::RandomWeights weights(options, 1);
    std::vector<TensorView> tensors = weights.tensors();
    tensors.push_back(tensors.front());
    tensors.back().name = "surplus";
    write_model_file(folder / "model", options, tensors);
    return error_of([&] { open(folder / "model"); });
  };
  EXPECT_PRED2(contains,
               error({testing::tiny_classifier()}, [](const auto& path) { Classifier::open(path); }),
               "does not have: \"surplus\"");
  EXPECT_PRED2(contains,
               error({testing::tiny_language_model()}, [](const auto& path) { LanguageModel::open(path); }),
               "does not have: \"surplus\"");
}

}  // namespace
}  // namespace mega::infer
