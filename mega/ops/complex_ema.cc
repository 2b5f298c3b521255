#include "mega/ops/complex_ema.h"

#include "mega/base/error.h"
#include "mega/ops/long_convolution.h"

namespace mega::ops {

using torch::Tensor;

Tensor complex_ema(const Tensor& x, const DiagonalSystem& coefficients, const Tensor& omega,
                   const Tensor& mask, const EmaSettings& settings, Tensor* state) {
  require(settings.truncation == 0, "a complex moving average has no truncation");
  Tensor y;
  if (state != nullptr) {
    require(!settings.bidirectional, "a bidirectional EMA cannot carry a state: it depends on future inputs");
    Tensor next = *state;
    y = carry(coefficients, mask.defined() ? x.masked_fill(mask.unsqueeze(-1), 0.0) : x, next);
    *state = next;
  } else {
    const int64_t length = x.size(1), width = x.size(2);
    const Tensor kernels = diagonal_kernel(coefficients, length);
    Tensor past = kernels.narrow(0, 0, width), future;
    if (settings.bidirectional) {
      future = kernels.narrow(0, width, width);
      if (!settings.shift) {  // both directions see the present; the convolution's future begins after it
        past = past + torch::constant_pad_nd(future.narrow(1, 0, 1), {0, length - 1});
        future = torch::constant_pad_nd(future.narrow(1, 1, length - 1), {0, 1});
      }
    }
    y = long_convolution(x, past, future, mask);
  }
  if (omega.defined()) y = y + omega * x;
  return settings.activated ? torch::silu(y) : y;
}

}  // namespace mega::ops
