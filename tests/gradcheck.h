// Checks gradients against central differences, in double.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "mega/ops/torch.h"

namespace mega {

// f computes tensors from the current values of `inputs`. For random weights w, the gradient of sum(f * w)
// with respect to every element of every input must match the finite difference.
inline void check_gradients(const std::function<std::vector<torch::Tensor>()>& f,
                            const std::vector<torch::Tensor>& inputs, double step = 1e-5,
                            double tolerance = 1e-6) {
  std::vector<torch::Tensor> weights;
  const auto loss = [&] {
    const std::vector<torch::Tensor> outputs = f();
    torch::Tensor sum = torch::zeros({}, torch::kDouble);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (i == weights.size()) weights.push_back(torch::randn_like(outputs[i]));
      sum = sum + (outputs[i] * weights[i]).sum();
    }
    return sum;
  };
  for (const torch::Tensor& input : inputs) ASSERT_EQ(input.scalar_type(), torch::kDouble);
  const auto gradients = torch::autograd::grad({loss()}, inputs, {}, {}, false, /*allow_unused=*/true);

  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_TRUE(inputs[i].is_contiguous());
    const torch::Tensor expected = torch::empty_like(inputs[i]);
    double* value = inputs[i].data_ptr<double>();
    for (int64_t j = 0; j < inputs[i].numel(); ++j) {
      const double before = value[j];
      value[j] = before + step;
      const double above = loss().item<double>();
      value[j] = before - step;
      const double below = loss().item<double>();
      value[j] = before;
      expected.data_ptr<double>()[j] = (above - below) / (2 * step);
    }
    const torch::Tensor actual = gradients[i].defined() ? gradients[i] : torch::zeros_like(inputs[i]);
    const double scale = std::max(1.0, expected.abs().max().item<double>());
    EXPECT_LE((actual - expected).abs().max().item<double>(), tolerance * scale) << "gradient of input " << i;
  }
}

}  // namespace mega
