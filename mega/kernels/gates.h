// The element-wise parts of gated attention and feed-forward, forward and backward, for rows [begin, end).
#pragma once

#include <cstdint>

#include "mega/config/models/layer_options.h"
#include "mega/kernels/dropout.h"
#include "mega/kernels/rows.h"

namespace mega::kernels {

// y = dropout(activation(x)); backward: dx = dy * mask * activation'(x).
void activate(Activation activation, const Dropout& dropout, ConstRows x, Rows y, int64_t begin, int64_t end,
              int64_t columns);
void activate_backward(Activation activation, const Dropout& dropout, ConstRows x, ConstRows dy, Rows dx,
                       int64_t begin, int64_t end, int64_t columns);

// y = a * silu(b); backward: da = dy * silu(b), db = dy * a * silu'(b).
void gate(ConstRows a, ConstRows b, Rows y, int64_t begin, int64_t end, int64_t columns);
void gate_backward(ConstRows a, ConstRows b, ConstRows dy, Rows da, Rows db, int64_t begin, int64_t end,
                   int64_t columns);

// Queries and keys from the shared representation (equations 7-9): z = silu(x), q = z * gamma[0] + beta[0], k
// = z * gamma[1] + beta[1]; gamma and beta (2, Z). The backward pass accumulates into dgamma and dbeta.
void share(ConstRows x, const float* gamma, const float* beta, Rows q, Rows k, int64_t begin, int64_t end,
           int64_t columns);
void share_backward(ConstRows x, const float* gamma, ConstRows dq, ConstRows dk, Rows dx, float* dgamma,
                    float* dbeta, int64_t begin, int64_t end, int64_t columns);

// The output gate (equations 13-15): y = r + sigmoid(u) * (m dropout(activation(h)) - r), where m is 1, or a
// factor of each sequence of `length` rows (drop path).
struct OutputGate {
  Activation activation;
  Dropout dropout;
  ConstRows update;                // u, before its sigmoid
  ConstRows candidate;             // h, before its activation
  ConstRows residual;              // r
  const float* factors = nullptr;  // m. May be null.
  int64_t length = 1;

  float factor(int64_t row) const { return factors == nullptr ? 1.0f : factors[row / length]; }
};
void output_gate(const OutputGate& gate, Rows y, int64_t begin, int64_t end, int64_t columns);
void output_gate_backward(const OutputGate& gate, ConstRows dy, Rows dupdate, Rows dcandidate, Rows dresidual,
                          int64_t begin, int64_t end, int64_t columns);

// sums (columns) += the sum of x over its rows.
void add_column_sums(ConstRows x, float* sums, int64_t begin, int64_t end, int64_t columns);

}  // namespace mega::kernels
