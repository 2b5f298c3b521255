// Helpers for autograd functions: save() and saved() keep a plain value, such as a settings struct, for the
// backward pass; require_first_derivative() rejects a second derivative, which would otherwise silently be
// zero.
#pragma once

#include <memory>
#include <utility>

#include "mega/base/error.h"
#include "mega/ops/torch.h"

namespace mega::ops {

template <class T>
struct Saved : torch::CustomClassHolder {
  explicit Saved(T v) : value(std::move(v)) {}
  T value;
};

template <class T>
void save(torch::autograd::AutogradContext* context, T value) {
  c10::intrusive_ptr<torch::CustomClassHolder> holder = c10::make_intrusive<Saved<T>>(std::move(value));
  context->saved_data["settings"] = c10::IValue::make_capsule(std::move(holder));
}

template <class T>
T saved(torch::autograd::AutogradContext* context) {
  return static_cast<const Saved<T>&>(*context->saved_data["settings"].toCapsule()).value;
}

inline void require_first_derivative(const char* what) {
  require(!torch::GradMode::is_enabled(), "the fused form of ", what,
          " has no second derivative; use the reference form (ops::FormGuard) instead");
}

}  // namespace mega::ops
