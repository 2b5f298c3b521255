// Attention with a relative bias, in chunks or over the whole sequence.
#pragma once

#include "mega/config/models/layer_options.h"
#include "mega/ops/dropout.h"
#include "mega/ops/torch.h"

namespace mega::ops {

struct AttentionSettings {
  AttentionFunction function = AttentionFunction::softmax;
  bool causal = false;
  int64_t chunk = -1;          // C; attention stays within [cC, (c+1)C). Negative: full attention.
  int64_t first_position = 0;  // of query 0 among the keys; 0 with chunks
  int64_t heads = 1;           // H; the columns of q, k and v are grouped by head
  int64_t content = 0;         // columns per head that are scaled, the rest is added unscaled; 0: all
  Dropout dropout;             // on the weights
};

// A bias that depends on key position minus query position: values[o - first] for offset o.
struct RelativeBias {
  torch::Tensor values;  // (offsets), or (H, offsets) for one bias per head, or undefined for none
  int64_t first = 0;
};

// f(Q K^T scale + bias) V (equation 11). q (B, Q, H Z), k (B, K, H Z), v (B, K, H V), mask (B, K) bool with
// true = padding, or undefined -> (B, Q, H V). Softmax scales by 1/sqrt(Z); the other functions by 1/l, where
// l is position + 1 for a causal query, otherwise the number of unpadded keys in its chunk. If all keys of a
// chunk are padding, softmax ignores the mask (as released). A query that sees no key gives 0.
torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        const RelativeBias& bias, const torch::Tensor& mask,
                        const AttentionSettings& settings);

// Forward and backward of the fused form, for use inside larger operations. Contiguous on the CPU: q, k, v,
// dout and the result's `out` all float32 or all bf16 in the backward pass; results are float32.
struct AttentionResult {
  torch::Tensor out;         // (B, Q, H V)
  torch::Tensor normalizer;  // (B, H, Q), softmax only
};
AttentionResult attention_forward(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                  const RelativeBias& bias, const torch::Tensor& mask,
                                  const AttentionSettings& settings);
// dbias is undefined if its gradient is not needed. With `overwrite`, float32 k and v become dk and dv.
struct AttentionDerivative {
  torch::Tensor dk, dv, dq, dbias;
};
AttentionDerivative attention_backward(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                       const RelativeBias& bias, const torch::Tensor& mask,
                                       const AttentionSettings& settings, const AttentionResult& result,
                                       const torch::Tensor& dout, bool overwrite = false);

}  // namespace mega::ops
