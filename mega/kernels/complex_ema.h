// The complex moving average as a scan over time: h = q h + b x, s = Re sum_n c_n h_n with complex q and c.
//
// Like ema.h, with channels in lanes, and whole sequences and single tokens alike. State, q and c have two
// rows for each average, the real and the imaginary part: (2 N, kEmaLanes), packed by ema_pack of (D, 2 N).
#pragma once

#include "mega/kernels/ema.h"

namespace mega::kernels {

struct ComplexEmaWeights {
  int64_t n = 0;
  const float* decay = nullptr;   // q (2 N, kEmaLanes)
  const float* input = nullptr;   // b (N, kEmaLanes), real
  const float* output = nullptr;  // c (2 N, kEmaLanes)
};

// `state` holds h before time.begin and is updated to that of the last step.
void complex_ema_scan(const EmaRows& x, const ComplexEmaWeights& weights, const EmaTime& time, float* state,
                      const EmaOutput& output);

}  // namespace mega::kernels
