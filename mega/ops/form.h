// Which of its two forms an operation takes.
//
// `reference` is plain libtorch and reads like the paper's equation, on any device and dtype. `fused` is an
// autograd function over our kernels, for float32 on the CPU. `automatic` is fused wherever it can be.
#pragma once

#include "mega/ops/torch.h"

namespace mega::ops {

enum class Form { automatic, reference, fused };

// The form that operations of this thread take.
Form default_form();

// Sets the form for the lifetime of the guard.
class FormGuard {
 public:
  explicit FormGuard(Form form);
  ~FormGuard();
  FormGuard(const FormGuard&) = delete;
  FormGuard& operator=(const FormGuard&) = delete;

 private:
  Form previous_;
};

// Whether an operation on x is to be fused; an error if `fused` was demanded of what it cannot serve.
bool use_fused(const torch::Tensor& x);

}  // namespace mega::ops
