// Compares the two forms of an operation: fused float32 against the reference in double, values and
// gradients.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "mega/ops/form.h"
#include "mega/ops/torch.h"

namespace mega::testing {

inline constexpr double kValueTolerance = 1e-5, kGradientTolerance = 1e-4;

// Prints the largest difference of all comparisons when the program ends.
class Worst {
 public:
  explicit Worst(const char* what) : what_(what) {}
  ~Worst() {
    if (worst_ > 0) std::printf("largest difference of %s: %.1e\n", what_, worst_);
  }
  void see(double difference) { worst_ = std::max(worst_, difference); }

 private:
  const char* what_;
  double worst_ = 0;
};
inline Worst worst_value("values"), worst_gradient("gradients");

// max |actual - expected| relative to max |expected|, or to `scale` if that is larger; 0 if both are 0.
inline double distance(const torch::Tensor& actual, const torch::Tensor& expected, double scale = 0) {
  if (expected.numel() == 0) return 0;
  const torch::Tensor a = actual.detach().to(torch::kFloat64), e = expected.detach().to(torch::kFloat64);
  const double difference = (a - e).abs().max().item<double>();
  return difference == 0 ? 0 : difference / std::max(scale, e.abs().max().item<double>());
}

inline void expect_close(const torch::Tensor& actual, const torch::Tensor& expected, double tolerance,
                         const std::string& what, double scale = 0) {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  const double difference = distance(actual, expected, scale);
  (tolerance >= kGradientTolerance ? worst_gradient : worst_value).see(difference);
  EXPECT_TRUE(difference <= tolerance) << what << " differs by " << difference;  // false for NaN
}

// An operation as a function of its differentiable inputs, which may be undefined.
using Tensors = std::vector<torch::Tensor>;
using Operation = std::function<torch::Tensor(const Tensors&)>;

struct Evaluation {
  torch::Tensor value;
  Tensors gradients;  // of sum(value * cotangent); zero if an input has no influence
};

inline Evaluation evaluate(const Operation& operation, const Tensors& inputs,
                           const torch::Tensor& cotangent) {
  Tensors leaves, wanted;
  for (const torch::Tensor& x : inputs) {
    leaves.push_back(x.defined() ? x.detach().requires_grad_() : x);
    if (x.defined()) wanted.push_back(leaves.back());
  }
  Evaluation result{operation(leaves), {}};
  const auto gradients = torch::autograd::grad({result.value}, wanted, {cotangent}, {}, false, true);
  for (size_t i = 0; i < wanted.size(); ++i)
    result.gradients.push_back(gradients[i].defined() ? gradients[i] : torch::zeros_like(wanted[i]));
  return result;
}

inline Tensors to(const Tensors& tensors, torch::ScalarType type) {
  Tensors result;
  for (const torch::Tensor& x : tensors) result.push_back(x.defined() ? x.to(type) : x);
  return result;
}

// The same values as every other element of a larger tensor.
inline torch::Tensor strided(const torch::Tensor& x) {
  if (!x.defined()) return x;
  return torch::stack({x, torch::full_like(x, NAN)}, -1).select(-1, 0);
}

// Values are compared relative to the largest; gradients relative to the largest of their tensor, or to a
// thousandth of the largest of all tensors. `floor` is a lower bound of these scales.
inline void expect_same(const Evaluation& actual, const Evaluation& expected, const char* what,
                        double floor = 0) {
  expect_close(actual.value, expected.value, kValueTolerance, std::string(what) + ": value", floor);
  double largest = 0;
  for (const torch::Tensor& g : expected.gradients)
    if (g.numel() > 0) largest = std::max(largest, g.abs().max().item<double>());
  for (size_t i = 0; i < expected.gradients.size(); ++i)
    expect_close(actual.gradients[i], expected.gradients[i], kGradientTolerance,
                 std::string(what) + ": gradient " + std::to_string(i), std::max(floor, 1e-3 * largest));
}

// Compares fused, with one thread on contiguous tensors and with two on strided ones, with the reference.
inline void compare_forms(const Operation& operation, const Tensors& inputs, double floor = 0) {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  torch::Tensor cotangent;
  Evaluation expected;
  {
    const ops::FormGuard guard(ops::Form::reference);
    const Tensors exact = to(inputs, torch::kFloat64);
    cotangent = torch::randn_like(operation(exact)).to(torch::kFloat32);
    expected = evaluate(operation, exact, cotangent.to(torch::kFloat64));
  }
  const ops::FormGuard guard(ops::Form::fused);
  expect_same(evaluate(operation, inputs, cotangent), expected, "one thread", floor);
  at::set_num_threads(2);
  Tensors apart;
  for (const torch::Tensor& x : inputs) apart.push_back(strided(x));
  expect_same(evaluate(operation, apart, strided(cotangent)), expected, "two threads, strided", floor);
  at::set_num_threads(threads);
}

}  // namespace mega::testing
