// Checks of user input to modules, with messages that say what was expected.
#pragma once

#include "mega/ops/torch.h"

namespace mega::ops {

// x must be (B, L, width), floating point like `weight`, and finite.
void check_sequence(const char* what, const torch::Tensor& x, int64_t width, const torch::Tensor& weight);

// mask, if defined, must be boolean (B, L).
void check_mask(const char* what, const torch::Tensor& mask, int64_t batch, int64_t length);

}  // namespace mega::ops
