// Attention of one query, as decoding needs it: keys and values are read once, page by page, and what the
// pages give is put together afterwards. A page's result does not depend on the others, so any thread may
// compute it.
#pragma once

#include <cstdint>

#include "mega/config/layer_options.h"
#include "mega/kernels/dot.h"

namespace mega::kernels {

// Keys (count, Z) and values (count, V) of neighbouring positions, each without gaps, f32 or bf16.
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
  const float* bias = nullptr;  // (count), of the page's keys. May be null.
};

// What a page gives: sum_j f(s_j) v_j with s_j = scale q . k_j + bias[j] (equation 11); for softmax
// exp(s_j - maximum), with the sum of these weights beside it.
struct PartialAttention {
  float* out = nullptr;  // (V)
  float maximum = 0.0f;  // of softmax only
  float sum = 0.0f;
};

// `scores` is scratch of `count` floats, aligned to 64 bytes and with room up to a multiple of 64.
void attention_step(const AttentionStep& step, const KeyValuePage& page, float* scores,
                    PartialAttention& partial);

// out (V) from all pages, in their order.
void merge_attention(AttentionFunction function, const PartialAttention* partials, int64_t pages,
                     int64_t values, float* out);

}  // namespace mega::kernels
