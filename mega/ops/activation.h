// Element-wise functions in plain libtorch, and the fused activation with dropout.
#pragma once

#include "mega/config/layer_options.h"
#include "mega/kernels/dropout.h"
#include "mega/ops/torch.h"

namespace mega::ops {

// dropout(activation(x)), x (..., columns); rows of the dropout mask are the leading dimensions together.
torch::Tensor activate(const torch::Tensor& x, Activation activation, const kernels::Dropout& dropout = {});

// The fused form's two directions, for operations that contain one. x and dy are contiguous float32 on the
// CPU.
torch::Tensor activate_forward(const torch::Tensor& x, Activation activation,
                               const kernels::Dropout& dropout);
// dy * mask * activation'(x)
torch::Tensor activate_backward(const torch::Tensor& x, Activation activation,
                                const kernels::Dropout& dropout, const torch::Tensor& dy);

// The attention functions of section 3.2 that look at one score at a time.
torch::Tensor relu2(const torch::Tensor& x);
torch::Tensor laplace(const torch::Tensor& x);

}  // namespace mega::ops
