// Selects between the two forms of an operation.
//
// `reference` is plain libtorch and reads like the paper's equation, on any device and dtype. `fused` is an
// autograd function over our kernels, for float32 on the CPU. `automatic` uses fused wherever possible.
#pragma once

#include "mega/ops/torch.h"

namespace mega::ops {

enum class Form { automatic, reference, fused };

// The form used by operations on this thread.
Form default_form();

// Sets this thread's form for the lifetime of the guard.
class FormGuard {
 public:
  explicit FormGuard(Form form);
  ~FormGuard();
  FormGuard(const FormGuard&) = delete;
  FormGuard& operator=(const FormGuard&) = delete;

 private:
  Form previous_;
};

// Whether to fuse an operation on x; an error if `fused` was requested but x does not allow it.
bool use_fused(const torch::Tensor& x);

}  // namespace mega::ops
