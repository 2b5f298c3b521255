// Shared by module tests: a small block, perturbed parameters, comparison of both forms, streams.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "mega/config/models/layer_options.h"
#include "mega/ops/form.h"
#include "mega/ops/torch.h"
#include "tests/base/helpers.h"
#include "tests/compare.h"

namespace mega::testing {

inline constexpr AttentionFunction kFunctions[] = {AttentionFunction::softmax, AttentionFunction::relu2,
                                                   AttentionFunction::laplace};
inline constexpr PositionKind kPositions[] = {PositionKind::none, PositionKind::simple, PositionKind::rotary,
                                              PositionKind::t5,   PositionKind::rope,   PositionKind::alibi,
                                              PositionKind::tupe};

// Widths that are not multiples of any vector length.
inline BlockOptions small_block() {
  BlockOptions options;
  options.width = 11;
  options.values = 21;
  options.shared = 10;
  options.hidden = 19;
  options.ema.dimension = 3;
  options.max_positions = 400;
  return options;
}

inline BlockOptions small_causal_block() {
  BlockOptions options = small_block();
  options.causal = true;
  options.ema.bidirectional = false;
  return options;
}

// Perturbs every parameter: as initialised, attention is almost uniform.
inline void scramble(torch::nn::Module& module, double deviation = 0.4) {
  const torch::NoGradGuard guard;
  for (torch::Tensor& p : module.parameters()) p.add_(torch::randn_like(p) * deviation);
}

// f(x), and the gradients of all parameters and of x.
inline Evaluation evaluate_module(torch::nn::Module& module, const torch::Tensor& x,
                                  const std::function<torch::Tensor(const torch::Tensor&)>& f) {
  torch::manual_seed(99);  // same dropout each time
  Tensors wanted = module.parameters();
  const torch::Tensor leaf = x.detach().requires_grad_();
  wanted.push_back(leaf);
  Evaluation result{f(leaf), {}};
  torch::manual_seed(98);
  const torch::Tensor cotangent = torch::randn(result.value.sizes()).to(x.scalar_type());
  const auto gradients = torch::autograd::grad({result.value}, wanted, {cotangent}, {}, false, true);
  for (size_t i = 0; i < wanted.size(); ++i)
    result.gradients.push_back(gradients[i].defined() ? gradients[i] : torch::zeros_like(wanted[i]));
  return result;
}

// The fused form against the reference in double.
inline void compare_module_forms(torch::nn::Module& module, const torch::Tensor& x,
                                 const std::function<torch::Tensor(const torch::Tensor&)>& f) {
  Evaluation expected;
  {
    const ops::FormGuard guard(ops::Form::reference);
    module.to(torch::kFloat64);
    expected = evaluate_module(module, x.to(torch::kFloat64), f);
    module.to(torch::kFloat32);
  }
  const ops::FormGuard guard(ops::Form::fused);
  expect_same(evaluate_module(module, x, f), expected, "fused", 0.1);
}

// Random segment lengths that sum to `length`.
inline std::vector<int64_t> random_cuts(int64_t length, int64_t longest, std::mt19937& random) {
  std::vector<int64_t> cuts;
  while (length > 0) {
    cuts.push_back(std::min(length, 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(longest))));
    length -= cuts.back();
  }
  return cuts;
}

// Calls step(x, mask) on successive segments and concatenates the results. A segment without padding gets no
// mask.
inline torch::Tensor in_segments(
    const torch::Tensor& x, const torch::Tensor& mask, const std::vector<int64_t>& cuts,
    const std::function<torch::Tensor(const torch::Tensor&, const torch::Tensor&)>& step) {
  Tensors parts;
  int64_t at = 0;
  for (const int64_t length : cuts) {
    torch::Tensor part = mask.defined() ? mask.narrow(1, at, length) : mask;
    if (part.defined() && !part.any().item<bool>()) part = torch::Tensor();
    parts.push_back(step(x.narrow(1, at, length), part));
    at += length;
  }
  return torch::cat(parts, 1);
}

// x with zeros at padding, where values do not matter.
inline torch::Tensor unpadded(const torch::Tensor& x, const torch::Tensor& mask) {
  return mask.defined() ? x.masked_fill(mask.unsqueeze(-1), 0) : x;
}

}  // namespace mega::testing
