// Products with weight matrices of each type against their definition, bit-identical for any split, on every
// instruction set this CPU has.
#include "mega/kernels/dot.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "mega/kernels/instruction_set.h"
#include "tests/kernels/helpers.h"

namespace mega::kernels {
namespace {

using mega::testing::for_each_target;
using mega::testing::Matrix;

constexpr WeightType kTypes[] = {WeightType::f32, WeightType::bf16, WeightType::i8};

const char* name(WeightType type) {
  return type == WeightType::f32 ? "f32" : type == WeightType::bf16 ? "bf16" : "i8";
}

// Enough tokens for packed weights, and some that fill no tile.
constexpr int64_t kManyTokens[] = {16, 37};

// Memory that ends at an unmapped page, so that reading beyond it crashes.
template <class T>
class EndOfPage {
 public:
  explicit EndOfPage(int64_t count) : count_(static_cast<size_t>(count)) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), bytes = count_ * sizeof(T);
    mapped_ = (bytes + page - 1) / page * page + page;
    void* map = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) throw std::bad_alloc();
    map_ = static_cast<char*>(map);
    mprotect(map_ + mapped_ - page, page, PROT_NONE);
    data_ = reinterpret_cast<T*>(map_ + mapped_ - page - bytes);
  }
  ~EndOfPage() { munmap(map_, mapped_); }
  EndOfPage(const EndOfPage&) = delete;
  EndOfPage& operator=(const EndOfPage&) = delete;

  T* data() { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + count_; }
  T& operator[](int64_t i) { return data_[i]; }

 private:
  size_t count_, mapped_;
  char* map_;
  T* data_;
};

// Weights of one type and activations, each at the end of a page.
struct Problem {
  Problem(WeightType type, int64_t tokens, int64_t rows, int64_t depth, std::mt19937& random)
      : count(tokens),
        f32(rows * depth),
        bf16(rows * depth),
        i8(rows * depth),
        scales(rows),
        sums(rows),
        values(tokens * depth),
        quantized(tokens * depth),
        value_scales(tokens),
        value_sums(tokens),
        rounded(tokens * depth) {
    std::normal_distribution<float> normal;
    for (float& w : f32) w = normal(random);
    for (float& value : values) value = normal(random);
    to_bf16(f32.data(), bf16.data(), rows * depth);
    quantize_rows({f32.data(), depth}, i8.data(), scales.data(), 0, rows, depth);
    row_sums(i8.data(), depth, sums.data(), 0, rows);
    quantize_rows({values.data(), depth}, quantized.data(), value_scales.data(), 0, tokens, depth);
    row_sums(quantized.data(), depth, value_sums.data(), 0, tokens);
    to_bf16(values.data(), rounded.data(), tokens * depth);
    const void* data = f32.data();
    if (type == WeightType::bf16) data = bf16.data();
    if (type == WeightType::i8) data = i8.data();
    weights = {type, data, rows, depth, scales.data(), sums.data()};
    x = {{values.data(), depth}, quantized.data(), value_scales.data(), value_sums.data(), rounded.data()};
  }

  // y[m][n], and the sum of the absolute values of its terms.
  std::pair<double, double> expected(int64_t m, int64_t n) {
    std::vector<float> row(static_cast<size_t>(weights.depth));
    weight_row(weights, n, row.data());
    double sum = 0, size = 0;
    for (int64_t k = 0; k < weights.depth; ++k) {
      const int64_t at = m * weights.depth + k;
      const double input = weights.type == WeightType::i8
                               ? double{value_scales[m]} * static_cast<double>(quantized[at])
                               : double{reads_rounded(weights) ? widened(rounded[at]) : values[at]};
      const double product = input * double{row[static_cast<size_t>(k)]};
      sum += product;
      size += std::abs(product);
    }
    return {sum, size};
  }

  Matrix all(const float* bias = nullptr) {
    Matrix y(count, weights.rows);
    dot_rows(weights, 0, weights.rows, x, 0, count, y, bias);
    return y;
  }

  static float widened(uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

  int64_t count;
  EndOfPage<float> f32;
  EndOfPage<uint16_t> bf16;
  EndOfPage<int8_t> i8;
  EndOfPage<float> scales;
  EndOfPage<int32_t> sums;
  EndOfPage<float> values;
  EndOfPage<int8_t> quantized;
  EndOfPage<float> value_scales;
  EndOfPage<int32_t> value_sums;
  EndOfPage<uint16_t> rounded;
  Weights weights;
  Activations x;
};

TEST(DotKernel, AgreesWithDefinition) {
  for_each_target([] {
    std::mt19937 random(1);
    for (const WeightType type : kTypes) {
      for (const int64_t depth : {1, 3, 4, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 200, 512}) {
        for (const int64_t tokens : {1, 2, 3, 7}) {
          for (const int64_t rows : {1, 2, 5, 8, 19}) {
            SCOPED_TRACE(::testing::Message()
                         << name(type) << " (" << rows << ", " << depth << ") x " << tokens);
            Problem problem(type, tokens, rows, depth, random);
            const Matrix y = problem.all();
            EXPECT_TRUE(y.intact());
            for (int64_t m = 0; m < tokens; ++m) {
              for (int64_t n = 0; n < rows; ++n) {
                const auto [value, size] = problem.expected(m, n);
                ASSERT_NEAR(y(m, n), value, 1e-6 * size) << "at (" << m << ", " << n << ")";
              }
            }
          }
        }
      }
    }
  });
}

// Calls with many tokens, with and without rounding to bf16, for all remainders of rows and depth.
TEST(DotKernel, ManyTokensAgreeWithDefinition) {
  for_each_target([] {
    std::mt19937 random(11);
    for (const WeightType type : kTypes) {
      for (const bool rounds : {false, true}) {
        for (const int64_t depth : {2, 4, 7, 36, 64, 130, 2100, 2112}) {
          for (const int64_t tokens : kManyTokens) {
            for (const int64_t rows : {1, 32, 53}) {
              SCOPED_TRACE(::testing::Message()
                           << name(type) << " (" << rows << ", " << depth << ") x " << tokens << rounds);
              Problem problem(type, tokens, rows, depth, random);
              problem.weights.rounds = rounds;
              std::vector<float> bias(static_cast<size_t>(rows));
              for (float& b : bias) b = std::normal_distribution<float>()(random);
              const Matrix y = problem.all(bias.data());
              EXPECT_TRUE(y.intact());
              for (int64_t m = 0; m < tokens; m += 5) {
                for (int64_t n = 0; n < rows; ++n) {
                  const auto [value, size] = problem.expected(m, n);
                  const double b = double{bias[static_cast<size_t>(n)]};
                  ASSERT_NEAR(y(m, n), value + b, 1e-6 * (size + std::abs(b))) << m << ", " << n;
                }
              }
            }
          }
        }
      }
    }
  });
}

// Only weights that may, where the CPU can.
TEST(DotKernel, RoundsWhereItMay) {
  for_each_target([] {
    std::mt19937 random(12);
    Problem problem(WeightType::bf16, 20, 9, 64, random);
    EXPECT_FALSE(reads_rounded(problem.weights));
    problem.weights.rounds = true;
    EXPECT_EQ(reads_rounded(problem.weights), native_bf16());
    problem.weights.type = WeightType::i8;
    EXPECT_FALSE(reads_rounded(problem.weights));
    problem.weights.type = WeightType::bf16;
    problem.weights.depth = 63;  // no whole pairs
    EXPECT_FALSE(reads_rounded(problem.weights));
  });
}

// The sums of bf16 depend on the number of tokens only up to rounding, and no split of rows changes a bit.
TEST(DotKernel, RoundedSumsHaveTwoOrders) {
  for_each_target([] {
    std::mt19937 random(13);
    for (const int64_t depth : {200, 192, 2112}) {
      SCOPED_TRACE(::testing::Message() << "depth " << depth);
      const int64_t tokens = 40, rows = 45;
      Problem problem(WeightType::bf16, tokens, rows, depth, random);
      problem.weights.rounds = true;
      const Matrix all = problem.all();
      Matrix parts(tokens, rows), one(tokens, rows);
      for (int64_t n = 0; n < rows; n += 13)
        dot_rows(problem.weights, n, std::min(n + 13, rows), problem.x, 0, tokens, parts);
      for (int64_t m = 0; m < tokens; ++m) dot_rows(problem.weights, 0, rows, problem.x, m, m + 1, one);
      for (int64_t m = 0; m < tokens; ++m) {
        for (int64_t n = 0; n < rows; ++n) {
          ASSERT_EQ(parts(m, n), all(m, n)) << m << ", " << n;
          ASSERT_NEAR(one(m, n), all(m, n), 1e-6 * problem.expected(m, n).second) << m << ", " << n;
        }
      }
    }
  });
}

// Each element is computed in a fixed order: no split of rows or tokens changes a bit.
TEST(DotKernel, AnySplitGivesTheSameBits) {
  for_each_target([] {
    std::mt19937 random(2);
    for (const WeightType type : kTypes) {
      for (const int64_t depth : {40, 77, 256}) {
        SCOPED_TRACE(::testing::Message() << name(type) << ", depth " << depth);
        const int64_t tokens = 29, rows = 45;
        Problem problem(type, tokens, rows, depth, random);
        const Matrix all = problem.all();
        const auto compare = [&](const Matrix& y, const char* how) {
          ASSERT_TRUE(y.intact()) << how;
          for (int64_t m = 0; m < tokens; ++m)
            for (int64_t n = 0; n < rows; ++n) ASSERT_EQ(y(m, n), all(m, n)) << how << ": " << m << ", " << n;
        };
        for (int64_t batch = 1; batch < 15; ++batch) {
          Matrix y(tokens, rows);
          for (int64_t m = 0; m < tokens; m += batch)
            dot_rows(problem.weights, 0, rows, problem.x, m, std::min(m + batch, tokens), y);
          compare(y, "tokens in batches");
        }
        for (int round = 0; round < 20; ++round) {
          Matrix y(tokens, rows);
          const auto cut = [&](int64_t count, int64_t most, const auto& body) {
            for (int64_t begin = 0, end = 0; begin < count; begin = end) {
              end = std::min(count, begin + std::uniform_int_distribution<int64_t>(1, most)(random));
              body(begin, end);
            }
          };
          cut(rows, 20, [&](int64_t begin, int64_t end) {
            cut(tokens, 9, [&](int64_t m, int64_t next) {
              dot_rows(problem.weights, begin, end, problem.x, m, next, y);
            });
          });
          compare(y, "random splits");
        }
      }
    }
  });
}

// More tokens than fit into the block that stays in cache.
TEST(DotKernel, ManyTokensAreTheSameAsOne) {
  for_each_target([] {
    std::mt19937 random(3);
    for (const WeightType type : kTypes) {
      const int64_t depth = 2000, tokens = 150, rows = 5;
      Problem problem(type, tokens, rows, depth, random);
      const Matrix all = problem.all();
      Matrix y(tokens, rows);
      for (int64_t m = 0; m < tokens; ++m) dot_rows(problem.weights, 0, rows, problem.x, m, m + 1, y);
      for (int64_t m = 0; m < tokens; ++m)
        for (int64_t n = 0; n < rows; ++n) ASSERT_EQ(y(m, n), all(m, n)) << name(type) << m << ", " << n;
    }
  });
}

TEST(DotKernel, EmptyRangesWriteNothing) {
  for_each_target([] {
    std::mt19937 random(4);
    for (const WeightType type : kTypes) {
      Problem problem(type, 3, 9, 20, random);
      Matrix y(3, 9);
      dot_rows(problem.weights, 4, 4, problem.x, 0, 3, y);
      dot_rows(problem.weights, 0, 9, problem.x, 1, 1, y);
      for (int64_t m = 0; m < 3; ++m)
        for (int64_t n = 0; n < 9; ++n) EXPECT_TRUE(std::isnan(y(m, n)));
    }
  });
}

// Integer sums are exact, so every instruction set gives the same bits, also for the largest possible sums.
TEST(DotKernel, IntegerSumsAreExact) {
  for_each_target([] {
    std::mt19937 random(5);
    std::uniform_int_distribution<int> any(-128, 127);
    for (const int64_t depth : {1, 100, 4096, 1 << 16, (1 << 16) + 1, 300'000}) {
      for (const bool extreme : {false, true}) {
        SCOPED_TRACE(::testing::Message() << "depth " << depth << (extreme ? ", extreme" : ""));
        const int64_t rows = 5, tokens = depth == 4096 ? 16 : 2;
        EndOfPage<int8_t> w(rows * depth), q(tokens * depth);
        for (int8_t& v : w) v = static_cast<int8_t>(extreme ? -128 : any(random));
        for (int8_t& v : q) v = static_cast<int8_t>(extreme ? 127 : std::max(any(random), -127));
        for (int64_t k = 0; k < depth; ++k) q[k] = extreme ? int8_t{-127} : q[k];
        std::vector<float> scales = {1.0f, 0.3f, 1e-4f, 2.0f, 0.7f},
                           input_scales(static_cast<size_t>(tokens), 3.0f);
        input_scales[0] = 0.1f;
        std::vector<int32_t> sums(rows);
        row_sums(w.data(), depth, sums.data(), 0, rows);
        const Weights weights{WeightType::i8, w.data(), rows, depth, scales.data(), sums.data()};
        std::vector<int32_t> input_sums(static_cast<size_t>(tokens));
        row_sums(q.data(), depth, input_sums.data(), 0, tokens);
        const Activations x{{}, q.data(), input_scales.data(), input_sums.data()};
        Matrix y(tokens, rows);
        dot_rows(weights, 0, rows, x, 0, tokens, y);
        for (int64_t m = 0; m < tokens; ++m) {
          for (int64_t n = 0; n < rows; ++n) {
            int64_t sum = 0;
            for (int64_t k = 0; k < depth; ++k) sum += int64_t{w[n * depth + k]} * q[m * depth + k];
            const float scale = scales[static_cast<size_t>(n)] * input_scales[static_cast<size_t>(m)];
            ASSERT_EQ(static_cast<float>(y(m, n)), static_cast<float>(sum) * scale) << m << ", " << n;
          }
        }
      }
    }
  });
}

TEST(DotKernel, RowSums) {
  for_each_target([] {
    const int64_t depth = 131;
    EndOfPage<int8_t> w(3 * depth);
    std::iota(w.begin(), w.end(), int8_t{-128});
    std::vector<int32_t> sums(3, 12345);
    row_sums(w.data(), depth, sums.data(), 1, 3);
    EXPECT_EQ(sums[0], 12345);
    EXPECT_EQ(sums[1], std::accumulate(&w[depth], &w[2 * depth], 0));
    EXPECT_EQ(sums[2], std::accumulate(&w[2 * depth], w.end(), 0));
  });
}

TEST(QuantizeRows, RoundsToTheNearest) {
  for_each_target([] {
    std::mt19937 random(6);
    for (const int64_t columns : {1, 5, 16, 33, 100}) {
      SCOPED_TRACE(columns);
      Matrix x(4, columns);
      x.randomize(random);
      for (int64_t c = 0; c < columns; ++c) {
        x(1, c) *= 1e30f;
        x(2, c) *= 1e-30f;
      }
      EndOfPage<int8_t> q(4 * columns);
      EndOfPage<float> scales(4);
      std::fill(q.begin(), q.end(), int8_t{77});
      quantize_rows(x, q.data(), scales.data(), 1, 4, columns);
      EXPECT_EQ(q[0], 77);  // row 0 is not in the range
      for (int64_t r = 1; r < 4; ++r) {
        float largest = 0;
        for (int64_t c = 0; c < columns; ++c) largest = std::max(largest, std::abs(x(r, c)));
        EXPECT_EQ(scales[r], largest / 127);
        int most = 0;
        for (int64_t c = 0; c < columns; ++c) {
          const int number = q[r * columns + c];
          most = std::max(most, std::abs(number));
          EXPECT_NEAR(double{scales[r]} * number, double{x(r, c)}, 0.50001 * double{scales[r]});
        }
        EXPECT_EQ(most, 127);
      }
    }
  });
}

TEST(QuantizeRows, RowsOfZerosAndTinyNumbers) {
  for_each_target([] {
    Matrix x(3, 21);
    for (int64_t c = 0; c < 21; ++c) {
      x(0, c) = c % 2 == 0 ? 0.0f : -0.0f;
      x(1, c) = std::numeric_limits<float>::denorm_min();
      x(2, c) = c == 3 ? std::numeric_limits<float>::max() : 1.0f;
    }
    EndOfPage<int8_t> q(3 * 21);
    EndOfPage<float> scales(3);
    quantize_rows(x, q.data(), scales.data(), 0, 3, 21);
    for (int64_t r = 0; r < 3; ++r)
      for (int64_t c = 0; c < 21; ++c)
        EXPECT_NEAR(static_cast<double>(scales[r]) * q[r * 21 + c], double{x(r, c)}, r == 2 ? 1e37 : 1e-36);
    EXPECT_EQ(q[2 * 21 + 3], 127);
  });
}

// A non-finite value makes its own row NaN, which callers can detect, and no other.
TEST(QuantizeRows, NonFiniteValuesGiveNan) {
  for_each_target([] {
    std::mt19937 random(7);
    const float infinity = std::numeric_limits<float>::infinity();
    const int64_t depth = 37;
    for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN(),
                            -std::numeric_limits<float>::quiet_NaN()}) {
      for (const int64_t place : {0, 20, 36}) {
        Problem problem(WeightType::i8, 3, 6, depth, random);
        problem.values[depth + place] = bad;
        quantize_rows(problem.x.values, problem.quantized.data(), problem.value_scales.data(), 0, 3, depth);
        const Matrix y = problem.all();
        for (int64_t n = 0; n < 6; ++n) {
          EXPECT_TRUE(std::isfinite(y(0, n)));
          EXPECT_TRUE(std::isnan(y(1, n)));
          EXPECT_TRUE(std::isfinite(y(2, n)));
        }
      }
    }
  });
}

TEST(Bf16, RoundsToTheNearestTiesToEven) {
  for_each_target([] {
    const float infinity = std::numeric_limits<float>::infinity();
    const auto converted = [](float x) {
      std::vector<float> in(23, x);  // whole vectors and a tail
      std::vector<uint16_t> out(23);
      to_bf16(in.data(), out.data(), 23);
      EXPECT_EQ(out.front(), out.back());
      return out.front();
    };
    const auto bits = [&](uint32_t b) { return converted(std::bit_cast<float>(b)); };
    EXPECT_EQ(converted(0.0f), 0);
    EXPECT_EQ(converted(-0.0f), 0x8000);
    EXPECT_EQ(converted(1.0f), 0x3f80);
    EXPECT_EQ(bits(0x3f807fff), 0x3f80);
    EXPECT_EQ(bits(0x3f808000), 0x3f80);  // ties to even
    EXPECT_EQ(bits(0x3f818000), 0x3f82);
    EXPECT_EQ(bits(0x3f808001), 0x3f81);
    EXPECT_EQ(converted(infinity), 0x7f80);
    EXPECT_EQ(converted(-infinity), 0xff80);
    EXPECT_EQ(converted(std::numeric_limits<float>::max()), 0x7f80);
    for (const uint32_t nan : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0xffffffffu, 0x7fc00000u}) {
      const uint16_t y = bits(nan);
      EXPECT_TRUE(std::isnan(std::bit_cast<float>(static_cast<uint32_t>(y) << 16))) << nan;
      EXPECT_EQ(y >> 15, nan >> 31);
    }
  });
}

TEST(Bf16, EveryValueRoundTrips) {
  for_each_target([] {
    std::vector<uint16_t> all(1 << 16), back(1 << 16);
    std::iota(all.begin(), all.end(), uint16_t{0});
    std::vector<float> floats(1 << 16);
    from_bf16(all.data(), floats.data(), 1 << 16);
    to_bf16(floats.data(), back.data(), 1 << 16);
    for (size_t i = 0; i < all.size(); ++i) {
      if (!std::isnan(floats[i])) {
        ASSERT_EQ(back[i], all[i]);
      }
    }
  });
}

TEST(WeightRow, GivesTheValuesThatProductsUse) {
  for_each_target([] {
    std::mt19937 random(8);
    for (const WeightType type : kTypes) {
      const int64_t depth = 39;
      Problem problem(type, 1, 4, depth, random);
      EndOfPage<float> row(depth);
      weight_row(problem.weights, 2, row.data());
      const double tolerance = type == WeightType::f32 ? 0.0 : type == WeightType::bf16 ? 0.02 : 0.03;
      for (int64_t k = 0; k < depth; ++k) {
        const double exact = double{problem.f32[2 * depth + k]};
        EXPECT_NEAR(double{row[k]}, exact, tolerance * std::max(1.0, std::abs(exact))) << name(type);
        if (type == WeightType::i8) {
          EXPECT_EQ(row[k], problem.scales[2] * static_cast<float>(problem.i8[2 * depth + k]));
        }
      }
    }
  });
}

}  // namespace
}  // namespace mega::kernels
