// Attention of one block of queries to one block of keys (a chunk or a whole sequence), forward and backward.
//
// Scores exist only as tiles in the caller's scratch buffer, which stays in cache. Shapes: Q queries, K keys,
// Z width of queries and keys, V width of values. Matrices are row-major with a row stride.
//
// Inputs are of float or of bf16 (uint16_t). With bf16, the weights and score gradients that enter products
// are rounded to bf16, too; everything is added up in float, and softmax and its sums are in float.
#pragma once

#include <cstdint>

#include "mega/config/models/layer_options.h"
#include "mega/kernels/dropout.h"

namespace mega::kernels {

// The score of query i, at position p = first_position + i, for key j is
//   s = scale * q_i . k_j + bias[j - p]        (scale / (p + 1) with scale_by_position)
// and its weight is f(s): softmax over the visible keys, relu(s)^2, or Laplace (equation 16 of the paper).
template <class T>
struct AttentionBlockOf {
  int64_t queries = 0, keys = 0, shared = 0, values = 0;
  const T* q = nullptr;  // (Q, Z)
  int64_t q_stride = 0;
  const T* k = nullptr;  // (K, Z)
  int64_t k_stride = 0;
  const T* v = nullptr;  // (K, V)
  int64_t v_stride = 0;
  AttentionFunction function = AttentionFunction::softmax;
  int64_t first_position = 0;
  bool causal = false;  // query at p sees keys 0..p
  float scale = 1.0f;
  bool scale_by_position = false;
  const float* bias = nullptr;       // bias[j - p], followed by kBiasSlack readable floats. May be null.
  const uint8_t* padding = nullptr;  // (K), nonzero = masked out. May be null.
  Dropout dropout;                   // on the weights; row i of the block uses dropout row dropout_row + i
  uint64_t dropout_row = 0;
};
using AttentionBlock = AttentionBlockOf<float>;
using NarrowAttentionBlock = AttentionBlockOf<uint16_t>;

inline constexpr int64_t kBiasSlack = 64;

// Size in floats of the 64-byte-aligned scratch buffer, enough for either direction and any number of keys.
int64_t attention_scratch(int64_t queries, int64_t shared, int64_t values);

// Computes out (Q, V) for queries [begin, end). For softmax, normalizer (Q) receives log(sum(exp(s))), or
// +inf where a query sees no key (its output is 0); the other functions do not touch it.
void attention_forward(const AttentionBlock& block, int64_t begin, int64_t end, float* out,
                       int64_t out_stride, float* normalizer, float* scratch);
void attention_forward(const NarrowAttentionBlock& block, int64_t begin, int64_t end, float* out,
                       int64_t out_stride, float* normalizer, float* scratch);

template <class T>
struct AttentionGradientsOf {
  const T* dout = nullptr;  // (Q, V)
  int64_t dout_stride = 0;
  const T* out = nullptr;  // (Q, V), from the forward pass (softmax only)
  int64_t out_stride = 0;
  const float* normalizer = nullptr;  // (Q), from the forward pass (softmax only)
  float* dq = nullptr;                // (Q, Z), accumulated into
  int64_t dq_stride = 0;
  float* dk = nullptr;  // (K, Z), overwritten; may alias k (and dv v): each tile is read before it is written
  int64_t dk_stride = 0;
  float* dv = nullptr;  // (K, V), overwritten
  int64_t dv_stride = 0;
  float* dbias = nullptr;  // dbias[j - p], accumulated into; slack as for bias. May be null.
};
using AttentionGradients = AttentionGradientsOf<float>;
using NarrowAttentionGradients = AttentionGradientsOf<uint16_t>;

// Computes the gradients that flow through keys [begin, end).
void attention_backward(const AttentionBlock& block, int64_t begin, int64_t end,
                        const AttentionGradients& gradients, float* scratch);
void attention_backward(const NarrowAttentionBlock& block, int64_t begin, int64_t end,
                        const NarrowAttentionGradients& gradients, float* scratch);

}  // namespace mega::kernels
