// y = x W^T + b, optionally of an activated x.
#pragma once

#include "mega/config/models/layer_options.h"
#include "mega/ops/dropout.h"
#include "mega/ops/torch.h"

namespace mega::ops {

// x (..., I), weight (O, I), bias (O) or undefined -> (..., O)
torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias);

// linear(dropout(activation(x))). Saves only x for the backward pass.
torch::Tensor activated_linear(const torch::Tensor& x, Activation activation, const Dropout& dropout,
                               const torch::Tensor& weight, const torch::Tensor& bias);

// The parts, for use inside larger operations. Matrices are contiguous on the CPU; factors are all float32 or
// all bf16 (mega/ops/precision.h), the bias is float32. x (M, I) -> y (M, O), float32, or bf16 as the factors
void linear_forward(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                    const torch::Tensor& y);
// dy (M, O) -> (O), float32
torch::Tensor column_sums(const torch::Tensor& dy);

}  // namespace mega::ops
