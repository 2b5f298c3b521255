// Sums of simple fractions on the imaginary axis, from which S4's kernel follows.
//
// Poles come in pairs p and conj(p), with weights v and conj(v), so that with z = i y a pair is
//   v / (z - p) + conj(v) / (z - conj(p)) = 2 (i y s - u) / (|p|^2 - y^2 - 2 i y Re p),
// s = Re v, u = Re(v conj(p)). One call is for one channel; the caller owns threads and memory.
#pragma once

#include <cstdint>

namespace mega::kernels {

struct CauchyPoles {
  int64_t pairs = 0;              // N/2
  const float* real = nullptr;    // (pairs): Re p
  const float* square = nullptr;  // (pairs): |p|^2
};

// (sums, pairs) each.
struct CauchyWeights {
  int64_t sums = 0;
  const float* u = nullptr;
  const float* s = nullptr;
};

// The real and imaginary parts of the sums over all pairs at every node: re and im (sums, nodes).
void cauchy_sums(const CauchyPoles& poles, const CauchyWeights& weights, const float* y, int64_t nodes,
                 float* re, float* im);

// The gradients of everything but y, given those of re and im; each is set.
struct CauchyGradients {
  float* real = nullptr;    // (pairs)
  float* square = nullptr;  // (pairs)
  float* u = nullptr;       // (sums, pairs)
  float* s = nullptr;       // (sums, pairs)
};
void cauchy_gradients(const CauchyPoles& poles, const CauchyWeights& weights, const float* y, int64_t nodes,
                      const float* dre, const float* dim, const CauchyGradients& gradients);

}  // namespace mega::kernels
