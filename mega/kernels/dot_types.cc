// Conversions between float and the narrower weight types.
#include "mega/kernels/dot.h"
#include "mega/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mega/kernels/dot_types.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "mega/kernels/dispatch.h"
#include "mega/kernels/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {

// The compiler vectorises the loops below for each instruction set.

void RowSums(const int8_t* data, int64_t depth, int32_t* sums, int64_t begin, int64_t end) {
  for (int64_t n = begin; n < end; ++n) {
    int32_t sum = 0;
    for (int64_t k = 0; k < depth; ++k) sum += data[n * depth + k];
    sums[n] = sum;
  }
}

void ToBf16(const float* x, uint16_t* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(x[i]);
    const uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
    const uint32_t quiet = bits | 0x400000;  // NaN stays NaN: shifting could give inf, rounding wrap around
    y[i] = static_cast<uint16_t>(((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded) >> 16);
  }
}

void FromBf16(const uint16_t* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = std::bit_cast<float>(static_cast<uint32_t>(x[i]) << 16);
}

void Scaled(const int8_t* x, float scale, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = scale * static_cast<float>(x[i]);
}

// max |x|, or NaN if a value is not finite. With the sign bit cleared, the bits of floats order like their
// values, with infinity and NaN above all others.
HWY_INLINE float LargestOf(const float* x, int64_t columns) {
  uint32_t largest = 0;
  for (int64_t c = 0; c < columns; ++c)
    largest = std::max(largest, std::bit_cast<uint32_t>(x[c]) & 0x7fffffff);
  return largest < 0x7f800000 ? std::bit_cast<float>(largest) : std::numeric_limits<float>::quiet_NaN();
}

void QuantizeRows(ConstRows x, int8_t* quantized, float* scales, int64_t begin, int64_t end,
                  int64_t columns) {
  const Floats d;
  const hn::Rebind<int8_t, Floats> bytes;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t row = begin; row < end; ++row) {
    const float* from = x[row];
    int8_t* to = quantized + row * columns;
    const float largest = LargestOf(from, columns), inverse = 127.0f / largest;
    if (!std::isfinite(inverse)) {  // zeros, or negligibly small; NaN makes all products of the row NaN
      scales[row] = std::isnan(largest) ? largest : 0.0f;
      std::fill_n(to, columns, int8_t{0});
      continue;
    }
    scales[row] = largest / 127.0f;
    const auto convert = [&](Vector value) HWY_ATTR {
      return hn::DemoteTo(bytes, hn::NearestInt(hn::Mul(value, hn::Set(d, inverse))));
    };
    int64_t c = 0;
    for (; c + lanes <= columns; c += lanes) hn::StoreU(convert(hn::LoadU(d, from + c)), bytes, to + c);
    if (c < columns) {
      HWY_ALIGN int8_t tail[HWY_MAX_BYTES / sizeof(float)];
      hn::StoreU(convert(TailView{columns - c}.Load(from + c)), bytes, tail);
      std::copy_n(tail, columns - c, to + c);
    }
  }
}

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mega::kernels {

MEGA_EXPORT(RowSums);
MEGA_EXPORT(QuantizeRows);
MEGA_EXPORT(Scaled);
MEGA_EXPORT(ToBf16);
MEGA_EXPORT(FromBf16);

void row_sums(const int8_t* data, int64_t depth, int32_t* sums, int64_t begin, int64_t end) {
  MEGA_DISPATCH(RowSums)(data, depth, sums, begin, end);
}
void quantize_rows(ConstRows x, int8_t* quantized, float* scales, int64_t begin, int64_t end,
                   int64_t columns) {
  MEGA_DISPATCH(QuantizeRows)(x, quantized, scales, begin, end, columns);
}
void weight_row(const Weights& weights, int64_t n, float* row) {
  const int64_t depth = weights.depth, start = n * depth;
  switch (weights.type) {
    case WeightType::f32:
      std::copy_n(static_cast<const float*>(weights.data) + start, depth, row);
      return;
    case WeightType::bf16:
      return from_bf16(static_cast<const uint16_t*>(weights.data) + start, row, depth);
    case WeightType::i8:
      MEGA_DISPATCH(Scaled)
      (static_cast<const int8_t*>(weights.data) + start, weights.scales[n], row, depth);
      return;
  }
}
void to_bf16(const float* x, uint16_t* y, int64_t count) { MEGA_DISPATCH(ToBf16)(x, y, count); }
void from_bf16(const uint16_t* x, float* y, int64_t count) { MEGA_DISPATCH(FromBf16)(x, y, count); }

}  // namespace mega::kernels
#endif
