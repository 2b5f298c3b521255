// The element-wise parts of gated attention and feed-forward, forward and backward, for rows [begin, end).
#pragma once

#include <cstdint>
#include <type_traits>

#include "mega/config/models/layer_options.h"
#include "mega/kernels/dropout.h"
#include "mega/kernels/rows.h"

namespace mega::kernels {

// Keeps a parameter from deciding on a template's type, so that whatever converts to rows can be passed.
template <class T>
using Same = std::type_identity_t<T>;

// Matrices are of float, or of bf16 where a caller asks for uint16_t, which is what training in bf16 stores.
// Arithmetic is in float.

// y = dropout(activation(x)); backward: dx = dy * mask * activation'(x), and where it has a place, y again,
// which is made on the way.
template <class T = float>
void activate(Activation activation, const Dropout& dropout, RowsOf<const Same<T>> x, RowsOf<Same<T>> y,
              int64_t begin, int64_t end, int64_t columns);
template <class X = float, class D = float, class Y = float>  // bf16 dx or dy need bf16 x
void activate_backward(Activation activation, const Dropout& dropout, RowsOf<const Same<X>> x,
                       RowsOf<const Same<Y>> dy, RowsOf<Same<D>> dx, int64_t begin, int64_t end,
                       int64_t columns, RowsOf<Same<X>> y = {});

// y = a * silu(b); backward: da = dy * silu(b), db = dy * a * silu'(b), and y again.
template <class T = float>
void gate(RowsOf<const Same<T>> a, RowsOf<const Same<T>> b, RowsOf<Same<T>> y, int64_t begin, int64_t end,
          int64_t columns);
template <class T = float>
void gate_backward(RowsOf<const Same<T>> a, RowsOf<const Same<T>> b, RowsOf<const Same<T>> dy,
                   RowsOf<Same<T>> da, RowsOf<Same<T>> db, RowsOf<Same<T>> y, int64_t begin, int64_t end,
                   int64_t columns);

// Queries and keys from the shared representation (equations 7-9): z = silu(x), q = z * gamma[0] + beta[0], k
// = z * gamma[1] + beta[1]; gamma and beta (2, Z). The backward pass accumulates into dgamma and dbeta.
template <class T = float>
void share(RowsOf<const Same<T>> x, const float* gamma, const float* beta, RowsOf<Same<T>> q,
           RowsOf<Same<T>> k, int64_t begin, int64_t end, int64_t columns);
template <class T = float>
void share_backward(RowsOf<const Same<T>> x, const float* gamma, ConstRows dq, ConstRows dk,
                    RowsOf<Same<T>> dx, float* dgamma, float* dbeta, int64_t begin, int64_t end,
                    int64_t columns);

// The output gate (equations 13-15): y = r + sigmoid(u) * (m dropout(activation(h)) - r), where m is 1, or a
// factor of each sequence of `length` rows (drop path).
template <class T>
struct OutputGateOf {
  Activation activation;
  Dropout dropout;
  RowsOf<const T> update;          // u, before its sigmoid
  RowsOf<const T> candidate;       // h, before its activation
  ConstRows residual;              // r
  const float* factors = nullptr;  // m. May be null.
  int64_t length = 1;

  float factor(int64_t row) const { return factors == nullptr ? 1.0f : factors[row / length]; }
};
using OutputGate = OutputGateOf<float>;
template <class T = float>
void output_gate(const OutputGateOf<Same<T>>& gate, Rows y, int64_t begin, int64_t end, int64_t columns);
template <class T = float>
void output_gate_backward(const OutputGateOf<Same<T>>& gate, ConstRows dy, RowsOf<Same<T>> dupdate,
                          RowsOf<Same<T>> dcandidate, Rows dresidual, int64_t begin, int64_t end,
                          int64_t columns);

// sums (columns) += the sum of x over its rows.
template <class T = float>
void add_column_sums(RowsOf<const Same<T>> x, float* sums, int64_t begin, int64_t end, int64_t columns);

}  // namespace mega::kernels
