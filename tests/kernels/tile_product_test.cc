#include "mega/kernels/tile_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "mega/kernels/dot.h"
#include "mega/kernels/instruction_set.h"
#include "tests/kernels/helpers.h"

namespace mega::kernels {
namespace {

using mega::testing::aligned_floats;

double wide(uint16_t bits) { return double{std::bit_cast<float>(static_cast<uint32_t>(bits) << 16)}; }

// A matrix (rows, columns) of bf16 in memory, maybe transposed, whose rows have gaps between them. Gaps are
// NaN, so that a product that reads one is detected.
struct Stored {
  Stored(int64_t rows, int64_t columns, bool transposed, std::mt19937& random)
      : transposed_(transposed), stride_((transposed ? rows : columns) + 3) {
    std::normal_distribution<float> normal;
    const int64_t lines = transposed ? columns : rows;
    bits_.assign(static_cast<size_t>(lines * stride_), 0x7FC0);
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t i = 0; i + 3 < stride_; ++i) {
        const float value = normal(random);
        to_bf16(&value, &bits_[static_cast<size_t>(line * stride_ + i)], 1);
      }
  }
  BfloatMatrix matrix() const { return {bits_.data(), stride_, transposed_}; }
  double at(int64_t row, int64_t column) const {
    const int64_t index = transposed_ ? column * stride_ + row : row * stride_ + column;
    return wide(bits_[static_cast<size_t>(index)]);
  }

 private:
  bool transposed_;
  int64_t stride_;
  std::vector<uint16_t> bits_;
};

double value_of(float x) { return double{x}; }
double value_of(uint16_t x) { return wide(x); }

constexpr int64_t kGuard = 4096;
constexpr float kUntouched = 123.0f;

struct Case {
  int64_t rows, columns, depth;
  bool a_transposed, b_transposed, accumulate, biased;
};

// bound: of the rounding of the result, relative to it.
template <class Out>
void check(const Case& c, double bound) {
  std::mt19937 random(7);
  const Stored a(c.rows, c.depth, c.a_transposed, random), b(c.depth, c.columns, c.b_transposed, random);
  const int64_t stride = c.columns + 5;
  const Out initial = std::is_same_v<Out, float> ? Out(-77) : Out(0xC29A);
  std::vector<Out> out(static_cast<size_t>(c.rows * stride), initial);
  const double before = value_of(initial);
  std::vector<float> bias(static_cast<size_t>(c.columns));
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = 0.25f * static_cast<float>(i % 9);
  const TileProduct<Out> product{c.rows,     c.columns,    c.depth,
                                 a.matrix(), b.matrix(),   out.data(),
                                 stride,     c.accumulate, c.biased ? bias.data() : nullptr};
  const int64_t needed = tile_product_scratch(product);
  const auto scratch = aligned_floats(needed + kGuard);
  std::fill_n(scratch.get() + needed, kGuard, kUntouched);
  tile_product(product, scratch.get());
  for (int64_t i = 0; i < kGuard; ++i) ASSERT_EQ(scratch[needed + i], kUntouched) << "beyond the scratch";
  for (int64_t m = 0; m < c.rows; ++m)
    for (int64_t n = 0; n < stride; ++n) {
      const double found = value_of(out[static_cast<size_t>(m * stride + n)]);
      if (n >= c.columns) {
        ASSERT_EQ(found, before) << "written beyond column " << c.columns;
        continue;
      }
      double expected =
          (c.accumulate ? before : 0.0) + (c.biased ? double{bias[static_cast<size_t>(n)]} : 0.0);
      double size = std::abs(expected);
      for (int64_t k = 0; k < c.depth; ++k) {
        expected += a.at(m, k) * b.at(k, n);
        size += std::abs(a.at(m, k) * b.at(k, n));
      }
      ASSERT_NEAR(found, expected, 1e-6 * size + bound * std::abs(expected))
          << "row " << m << ", column " << n;
    }
}

TEST(TileProduct, AgreesWithLoops) {
  if (!has_tiles()) GTEST_SKIP() << "no tiles here";
  for (const bool a : {false, true})
    for (const bool b : {false, true})
      for (const bool accumulate : {false, true})
        for (const bool biased : {false, true})
          // Around the sides of tiles and blocks; one element; several pieces of columns; of the depth.
          for (const auto& [rows, columns, depth] : {std::array<int64_t, 3>{1, 1, 1},
                                                     {16, 16, 32},
                                                     {33, 31, 33},
                                                     {17, 50, 64},
                                                     {70, 96, 30},
                                                     {5, 300, 2080},
                                                     {40, 40, 4200}}) {
            SCOPED_TRACE(::testing::Message()
                         << rows << " x " << columns << ", depth " << depth << (a ? ", A transposed" : "")
                         << (b ? ", B transposed" : "") << (accumulate ? ", accumulated" : "")
                         << (biased ? ", biased" : ""));
            const Case one{rows, columns, depth, a, b, accumulate, biased};
            check<float>(one, 0.0);
            check<uint16_t>(one, std::ldexp(1.0, -8));
          }
}

TEST(TileProduct, NothingIsNothing) {
  float out = 3.0f;
  for (const auto& [rows, columns, depth] : {std::array<int64_t, 3>{0, 4, 4}, {4, 0, 4}, {1, 1, 0}}) {
    const TileProduct<float> product{rows, columns, depth, {}, {}, &out, 1};
    EXPECT_GT(tile_product_scratch(product), 0);
    tile_product(product, nullptr);
  }
  EXPECT_EQ(out, 3.0f);
}

}  // namespace
}  // namespace mega::kernels
