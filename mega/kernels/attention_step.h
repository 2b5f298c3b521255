// Attention of a single query, for decoding. Keys and values are read once, page by page; pages are
// independent, so any thread may process any page, and the partial results are merged afterwards.
#pragma once

#include <cstdint>

#include "mega/config/models/layer_options.h"
#include "mega/kernels/dot.h"

namespace mega::kernels {

// Keys (count, Z) and values (count, V) of consecutive positions, both contiguous, in f32 or bf16.
struct KeyValuePage {
  WeightType type = WeightType::f32;
  const void* keys = nullptr;
  const void* values = nullptr;
  int64_t count = 0;
};

struct AttentionStep {
  AttentionFunction function = AttentionFunction::softmax;
  int64_t shared = 0, values = 0;  // Z, V
  const float* query = nullptr;    // (Z)
  float scale = 1.0f;
  const float* bias = nullptr;  // (count), one per key of the page. May be null.
};

// The result of one page: sum_j f(s_j) v_j with s_j = scale q . k_j + bias[j] (equation 11). For softmax,
// f(s_j) = exp(s_j - maximum), and `sum` is the sum of these weights.
struct PartialAttention {
  float* out = nullptr;  // (V)
  float maximum = 0.0f;  // softmax only
  float sum = 0.0f;
};

// `scores` is scratch space for `count` floats, rounded up to a multiple of 64 and aligned to 64 bytes.
void attention_step(const AttentionStep& step, const KeyValuePage& page, float* scores,
                    PartialAttention& partial);

// Merges the results of all pages, in page order, into out (V).
void merge_attention(AttentionFunction function, const PartialAttention* partials, int64_t pages,
                     int64_t values, float* out);

}  // namespace mega::kernels
