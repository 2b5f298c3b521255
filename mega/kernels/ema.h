// The multi-dimensional damped EMA (equations 4-5 of the paper) as a scan over time.
//
// Channels stand in vector lanes and the N averages of a channel in registers, so that a token costs two
// multiply-adds per channel and average and nothing of size D x N x L ever exists. A work item is one batch
// row and one group of kEmaLanes channels; the caller owns threads and memory.
//
// A scan runs in its own time tau = 0, 1, ..., L-1, which is position tau, or L-1-tau in reverse:
//   E_tau = q E_{tau-1} + u_tau,    s_tau = sum_n c_n E_{tau,n}
// where u = x, or b x with input weights, or x_tau - q^T x_{tau-T} where the kernel is cut after T lags (what
// entered T steps ago leaves again). A gradient is scanned by the same function, in the other direction.
#pragma once

#include <cstdint>

namespace mega::kernels {

inline constexpr int64_t kEmaLanes = 16;  // one cache line of a row

inline int64_t ema_groups(int64_t width) { return (width + kEmaLanes - 1) / kEmaLanes; }

// Coefficients and states of a group lie as (N, kEmaLanes), zero in the lanes beyond the width. These two
// convert between (D, N) and all groups, (ema_groups(D), N, kEmaLanes).
void ema_pack(const float* rows, int64_t width, int64_t n, float* packed);
void ema_unpack(const float* packed, int64_t width, int64_t n, float* rows);

// What is scanned: the group's channels of a sequence.
struct EmaRows {
  const float* data = nullptr;  // (L, lanes)
  int64_t stride = 0;           // floats from one position to the next
  int64_t length = 0;
  int64_t lanes = kEmaLanes;
  const uint8_t* padding = nullptr;  // (L), nonzero counts as x = 0. May be null.
};

// Each (N, kEmaLanes). Input weights and a cut exclude each other.
struct EmaWeights {
  int64_t n = 0;
  const float* decay = nullptr;      // q
  const float* output = nullptr;     // c, of ema_scan only
  const float* input = nullptr;      // b, of ema_scan only. May be null.
  int64_t truncation = 0;            // T, or 0
  const float* cut = nullptr;        // q^T
  const float* cut_slope = nullptr;  // T q^(T-1), of ema_slope only
};

// The part of a scan's time to run.
struct EmaTime {
  int64_t begin = 0;
  int64_t end = 0;
  bool reverse = false;
};

// What becomes of s at each position, in this order.
struct EmaOutput {
  float* data = nullptr;  // (L, lanes)
  int64_t stride = 0;
  bool accumulate = false;           // + what is there already
  const uint8_t* padding = nullptr;  // (L), nonzero makes it 0. May be null.
  const float* skip = nullptr;       // (lanes) + skip * x, also where x is padding. May be null.
  bool silu = false;
  float* linear = nullptr;  // as data: receives what SiLU is applied to. May be null.
};

// `state` (N, kEmaLanes) holds E before time.begin and is left with E of the last step. Without an output
// (null) only the state advances. Where the kernel is cut, the state must come from the last T inputs and
// nothing else.
void ema_scan(const EmaRows& x, const EmaWeights& weights, const EmaTime& time, float* state,
              const EmaOutput* output);

// The scan together with its derivative D_tau = dE_tau/dq = q D_{tau-1} + E_{tau-1}: what the gradients of q
// and c need, sum over tau of g_tau E_tau and of g_tau D_tau, is *added* to `sums` (2, N, kEmaLanes). g lies
// as (L, kEmaLanes). Without g (null) only state and slope advance.
void ema_slope(const EmaRows& x, const EmaWeights& weights, const EmaTime& time, float* state, float* slope,
               const float* g, float* sums);

// g (L, kEmaLanes) at positions [begin, end): dy * silu'(linear), or dy itself where linear is null; and the
// gradient of the skip, sum of g * x, *added* to dskip (kEmaLanes) where that is not null.
// dy, linear and x (padding ignored) have x's layout.
void ema_output_gradient(const EmaRows& x, const float* dy, const float* linear, int64_t begin, int64_t end,
                         float* g, float* dskip);

// One token of one sequence: h = q h + b x, y = sum_n c h, then skip and SiLU as above. State and weights lie
// unpacked, (D, N); `next` may be `state`. For channels [begin, end).
struct EmaStep {
  int64_t n = 0;
  const float* decay = nullptr;   // q
  const float* input = nullptr;   // b
  const float* output = nullptr;  // c
  const float* skip = nullptr;    // (D). May be null.
  bool silu = false;
  bool padded = false;  // x counts as 0, except in the skip
};
void ema_step(const EmaStep& step, int64_t begin, int64_t end, const float* x, const float* state,
              float* next, float* y);

}  // namespace mega::kernels
