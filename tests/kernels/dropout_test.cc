// The dropout mask: correct rate, no pattern, and one function of (seed, row, column) on every instruction
// set.
#include "mega/kernels/dropout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/kernels/helpers.h"

namespace mega::kernels {
namespace {

using mega::testing::for_each_target;

using Mask = std::vector<float>;

Mask mask_of(const Dropout& dropout, int64_t rows, int64_t columns) {
  Mask mask(static_cast<size_t>(rows * columns), -1.0f);
  dropout_mask_rows(dropout, mask.data(), 0, rows, columns);
  return mask;
}

// Deviation of the number of successes from its mean, in standard deviations, for n trials.
double deviations(double count, double n, double probability) {
  return std::abs(count - n * probability) / std::sqrt(n * probability * (1 - probability));
}

TEST(Dropout, DropsAtItsRate) {
  constexpr int64_t kRows = 500, kColumns = 401;
  for (const float rate : {0.01f, 0.1f, 0.3f, 0.5f, 0.9f, 0.99f}) {
    const Mask mask = mask_of({rate, 42}, kRows, kColumns);
    const double p = static_cast<double>(rate), n = static_cast<double>(mask.size());
    const auto dropped = std::count(mask.begin(), mask.end(), 0.0f);
    EXPECT_LT(deviations(static_cast<double>(dropped), n, p), 4) << rate;
    // The kept elements are scaled up accordingly.
    EXPECT_EQ(std::count(mask.begin(), mask.end(), 1.0f / (1.0f - rate)), kRows * kColumns - dropped);
    // Each row and column has the rate too, within what chance allows.
    for (int64_t c = 0; c < kColumns; ++c) {
      double column = 0;
      for (int64_t r = 0; r < kRows; ++r) column += mask[static_cast<size_t>(r * kColumns + c)] == 0.0f;
      EXPECT_LT(deviations(column, kRows, p), p < 0.05 || p > 0.95 ? 8 : 5) << rate << " column " << c;
    }
  }
}

// Dropping is independent of the next column, the next row and the next seed.
TEST(Dropout, NeighboursAreIndependent) {
  constexpr int64_t kRows = 400, kColumns = 300;
  constexpr double kRate = 0.3;
  const Mask mask = mask_of({static_cast<float>(kRate), 7}, kRows, kColumns);
  const Mask other = mask_of({static_cast<float>(kRate), 8}, kRows, kColumns);
  const auto together = [&](const Mask& second, int64_t shift) {
    double both = 0, n = 0;
    for (size_t i = 0; i + static_cast<size_t>(shift) < mask.size(); ++i, ++n)
      both += mask[i] == 0.0f && second[i + static_cast<size_t>(shift)] == 0.0f;
    return deviations(both, n, kRate * kRate);
  };
  for (const int64_t shift : {int64_t{1}, int64_t{2}, int64_t{16}, kColumns, kColumns + 1, 2 * kColumns})
    EXPECT_LT(together(mask, shift), 4) << "shift " << shift;
  EXPECT_LT(together(other, 0), 4);

  std::set<Mask> rows;
  for (int64_t r = 0; r < kRows; ++r)
    rows.emplace(mask.begin() + r * kColumns, mask.begin() + (r + 1) * kColumns);
  EXPECT_EQ(rows.size(), static_cast<size_t>(kRows));
}

TEST(Dropout, SameMaskOnEveryInstructionSet) {
  constexpr int64_t kRows = 20;
  for (const int64_t columns : {1, 3, 16, 37, 130}) {
    const Dropout dropout{0.4f, 0xFEDCBA9876543210u};
    const Mask expected = mask_of(dropout, kRows, columns);
    for_each_target([&] {
      Mask mask(expected.size());
      for (const auto& [begin, end] : {std::pair{0, 1}, std::pair{1, 13}, std::pair{13, 20}})
        dropout_mask_rows(dropout, mask.data(), begin, end, columns);
      EXPECT_EQ(mask, expected);
    });
  }
}

TEST(Dropout, RatesZeroAndOne) {
  for_each_target([] {
    for (const float value : mask_of({1.0f, 3}, 50, 77)) ASSERT_EQ(value, 0.0f);
    for (const float value : mask_of({0.0f, 3}, 50, 77)) ASSERT_EQ(value, 1.0f);
  });
  EXPECT_FALSE(Dropout().active());
}

}  // namespace
}  // namespace mega::kernels
