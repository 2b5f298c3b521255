// Element-wise functions in plain libtorch, and the fused activation with dropout.
#pragma once

#include "mega/config/models/layer_options.h"
#include "mega/kernels/dropout.h"
#include "mega/ops/torch.h"

namespace mega::ops {

// dropout(activation(x)), x (..., columns); the leading dimensions are flattened to the rows of the dropout
// mask.
torch::Tensor activate(const torch::Tensor& x, Activation activation, const kernels::Dropout& dropout = {});

// Forward and backward of the fused form, for use inside larger operations. x is contiguous float32 or bf16
// on the CPU, and y of the same type; dx or dy in bf16 needs x in bf16.
torch::Tensor activate_forward(const torch::Tensor& x, Activation activation,
                               const kernels::Dropout& dropout);
// dy * mask * activation'(x), float32
torch::Tensor activate_backward(const torch::Tensor& x, Activation activation,
                                const kernels::Dropout& dropout, const torch::Tensor& dy);
// The same into dx, float32 or bf16, which may be dy; and where y is defined, dropout(activation(x)) into y.
void activate_backward(const torch::Tensor& x, Activation activation, const kernels::Dropout& dropout,
                       const torch::Tensor& dy, const torch::Tensor& dx, const torch::Tensor& y = {});

// The attention functions of section 3.2 that treat each score independently.
torch::Tensor relu2(const torch::Tensor& x);
torch::Tensor laplace(const torch::Tensor& x);

}  // namespace mega::ops
