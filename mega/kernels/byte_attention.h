// Attention of quantised queries to quantised keys and values: the forward pass of int8 models over many
// positions.
//
// Products of queries and keys are exact up to the scales of both. Of 128 keys, the weights times the scales
// of their values are rounded to 255ths of the largest; what rounding leaves over of one goes to another.
// Everything else is in float, as in attention.h.
#pragma once

#include <cstdint>

#include "mega/kernels/attention.h"

namespace mega::kernels {

// Columns of queries and keys, at most: their products are added up in 32 bits.
inline constexpr int64_t kMaxByteColumns = 1 << 16;

// Each row is its scale times its integers, as quantize_rows makes them.
struct ByteAttentionBlock : AttentionBlockOf<int8_t> {
  const float* q_scales = nullptr;  // (Q)
  const float* k_scales = nullptr;  // (K)
  const float* v_scales = nullptr;  // (K)
};

// Whether this CPU does so faster than in float or bf16: where it adds four products of bytes at once
// (AVX512-VNNI), but has no tiles.
bool prefers_byte_attention();

// Size in floats of the 64-byte-aligned scratch buffer.
int64_t byte_attention_scratch(int64_t queries, int64_t shared, int64_t values);

// Computes out (Q, V) for queries [begin, end). There is no dropout.
void byte_attention(const ByteAttentionBlock& block, int64_t begin, int64_t end, float* out,
                    int64_t out_stride, float* scratch);

}  // namespace mega::kernels
