#include "mega/infer/models/answer.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/base/helpers.h"

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

}  // namespace
}  // namespace mega::infer
