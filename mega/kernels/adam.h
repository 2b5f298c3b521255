// One step of Adam with decoupled weight decay over a range of parameters.
#pragma once

#include <cstdint>

namespace mega::kernels {

struct AdamStep {
  float decay;  // p -= decay * p first
  float rate;   // then p -= rate * m / (sqrt(v) + epsilon), bias correction included
  float beta1, beta2;
  float epsilon;
  float scale;  // multiplies the gradient (for clipping)
};

void adam(const AdamStep& step, const float* gradient, float* parameter, float* mean, float* square,
          int64_t count);

}  // namespace mega::kernels
