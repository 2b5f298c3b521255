// The precision of products: float32, or bf16 factors whose products are added up in float32.
//
// bf16 has the exponent of float32 and 8 significant bits. With bf16, fused operations round what enters a
// product, and keep what they save for the backward pass in bf16. Parameters, their gradients, moving
// averages, norms, softmax, losses and all sums stay in float32. Gradients need no scaling: they have the
// same range of exponents as in float32, so none becomes zero that is a normal number there.
#pragma once

#include <cstdint>

#include "mega/config/recipe/precision.h"
#include "mega/ops/torch.h"

namespace mega::ops {

// f32 or bf16: what is asked for, as far as this CPU multiplies it natively.
Precision available_precision(Precision asked);

// Sets the precision of fused operations on this thread, as far as it is available, for the lifetime of the
// guard.
class PrecisionGuard {
 public:
  explicit PrecisionGuard(Precision precision);
  ~PrecisionGuard();
  PrecisionGuard(const PrecisionGuard&) = delete;
  PrecisionGuard& operator=(const PrecisionGuard&) = delete;

 private:
  Precision previous_;
};

// Whether operations on this thread multiply in bf16.
bool use_bf16();

// x, contiguous, rounded to bf16 if `narrow` and it is not yet.
torch::Tensor stored(const torch::Tensor& x, bool narrow);

// The same of a tensor that several operations read, or one reads many times (a parameter): it is rounded
// once and kept until it changes in place (which counts its version on); after it was freed, until another
// one is rounded or a guard ends.
torch::Tensor stored_once(const torch::Tensor& x, bool narrow);

inline bool is_narrow(const torch::Tensor& x) { return x.scalar_type() == torch::kBFloat16; }

// The address of a tensor's data: T is float, or uint16_t for bf16.
template <class T>
T* data_of(const torch::Tensor& x) {
  if constexpr (std::is_same_v<T, float>) {
    return x.data_ptr<float>();
  } else {
    static_assert(std::is_same_v<T, uint16_t>);
    return reinterpret_cast<uint16_t*>(x.data_ptr<at::BFloat16>());
  }
}

// Calls body with a value of the type that x stores: float, or uint16_t for bf16.
template <class Body>
void with_type_of(const torch::Tensor& x, const Body& body) {
  if (is_narrow(x)) return body(uint16_t{});
  body(float{});
}

}  // namespace mega::ops
