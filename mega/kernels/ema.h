// The multi-dimensional damped EMA (equations 4-5 of the paper) as a scan over time.
//
// Channels occupy vector lanes and the N averages of a channel registers, so a token costs two multiply-adds
// per channel and average, and nothing of size D x N x L is ever stored. A work item is one batch row and one
// group of kEmaLanes channels; the caller owns threads and memory.
//
// A scan has its own time tau = 0, 1, ..., L-1, which is position tau, or L-1-tau in reverse:
//   E_tau = q E_{tau-1} + u_tau,    s_tau = sum_n c_n E_{tau,n}
// where u is x, or b x with input weights, or x_tau - q^T x_{tau-T} if the kernel is truncated after T lags
// (an input leaves the state after T steps). Gradients use the same scan in the opposite direction.
#pragma once

#include <cstdint>

namespace mega::kernels {

inline constexpr int64_t kEmaLanes = 16;  // one cache line of a row

inline int64_t ema_groups(int64_t width) { return (width + kEmaLanes - 1) / kEmaLanes; }

// Coefficients and states of a group have shape (N, kEmaLanes), zero in lanes beyond the width. These
// functions convert between (D, N) and all groups, (ema_groups(D), N, kEmaLanes).
void ema_pack(const float* rows, int64_t width, int64_t n, float* packed);
void ema_unpack(const float* packed, int64_t width, int64_t n, float* rows);

// The input of a scan: one group of channels of a sequence.
struct EmaRows {
  const float* data = nullptr;  // (L, lanes)
  int64_t stride = 0;           // floats from one position to the next
  int64_t length = 0;
  int64_t lanes = kEmaLanes;
  const uint8_t* padding = nullptr;  // (L), nonzero = treat x as 0. May be null.
};

// Each (N, kEmaLanes). Input weights and truncation are mutually exclusive.
struct EmaWeights {
  int64_t n = 0;
  const float* decay = nullptr;      // q
  const float* output = nullptr;     // c, ema_scan only
  const float* input = nullptr;      // b, ema_scan only. May be null.
  int64_t truncation = 0;            // T, or 0
  const float* cut = nullptr;        // q^T
  const float* cut_slope = nullptr;  // T q^(T-1), ema_slope only
};

// The range of scan time to process.
struct EmaTime {
  int64_t begin = 0;
  int64_t end = 0;
  bool reverse = false;
};

// What happens to s at each position, in this order.
struct EmaOutput {
  float* data = nullptr;  // (L, lanes)
  int64_t stride = 0;
  bool accumulate = false;           // add to the current content of data
  const uint8_t* padding = nullptr;  // (L), nonzero = set to 0. May be null.
  const float* skip = nullptr;       // (lanes): add skip * x, also where x is padding. May be null.
  bool silu = false;
  float* linear = nullptr;  // as data: receives the input of SiLU. May be null.
};

// `state` (N, kEmaLanes) holds E before time.begin and is updated to E of the last step. With a null output
// only the state advances. If the kernel is truncated, the state must be that of the last T inputs alone.
void ema_scan(const EmaRows& x, const EmaWeights& weights, const EmaTime& time, float* state,
              const EmaOutput* output);

// Runs the scan together with its derivative D_tau = dE_tau/dq = q D_{tau-1} + E_{tau-1}. The sums over tau
// of g_tau E_tau and of g_tau D_tau, from which the gradients of c and q follow, are accumulated into `sums`
// (2, N, kEmaLanes). g has shape (L, kEmaLanes); if it is null, only state and slope advance.
void ema_slope(const EmaRows& x, const EmaWeights& weights, const EmaTime& time, float* state, float* slope,
               const float* g, float* sums);

// Sets g (L, kEmaLanes) at positions [begin, end) to dy * silu'(linear), or to dy if linear is null. The
// gradient of the skip, the sum of g * x, is accumulated into dskip (kEmaLanes) unless it is null. dy, linear
// and x (padding ignored) have x's layout.
void ema_output_gradient(const EmaRows& x, const float* dy, const float* linear, int64_t begin, int64_t end,
                         float* g, float* dskip);

// One token of one sequence: h = q h + b x, y = sum_n c h, then skip and SiLU as above. State and weights are
// unpacked, (D, N); `next` may alias `state`. Processes channels [begin, end).
struct EmaStep {
  int64_t n = 0;
  const float* decay = nullptr;   // q
  const float* input = nullptr;   // b
  const float* output = nullptr;  // c
  const float* skip = nullptr;    // (D). May be null.
  bool silu = false;
  bool padded = false;  // treat x as 0, except in the skip
};
void ema_step(const EmaStep& step, int64_t begin, int64_t end, const float* x, const float* state,
              float* next, float* y);

}  // namespace mega::kernels
