// Shared by kernel tests: runs on every instruction set, and matrices that detect writes out of bounds.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "mega/kernels/dot.h"
#include "mega/kernels/instruction_set.h"
#include "mega/kernels/rows.h"

namespace mega::testing {

// Runs `test` once for every compiled instruction set that this CPU supports.
template <class Test>
void for_each_target(const Test& test) {
  for (const kernels::InstructionSet set : kernels::usable_instruction_sets()) {
    kernels::limit_instruction_set(set);
    SCOPED_TRACE(kernels::instruction_set());
    test();
  }
}

// Floats aligned for any vector, as kernels require of scratch space.
struct AlignedDelete {
  void operator()(float* floats) const { ::operator delete[](floats, std::align_val_t(64)); }
};
inline std::unique_ptr<float[], AlignedDelete> aligned_floats(int64_t count) {
  const size_t bytes = static_cast<size_t>(count) * sizeof(float);
  return std::unique_ptr<float[], AlignedDelete>(
      static_cast<float*>(::operator new[](bytes, std::align_val_t(64))));
}

inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// Unaligned rows with gaps between them. Elements start as NaN, so a kernel that leaves one out or touches a
// gap is detected.
class Matrix {
 public:
  Matrix(int64_t rows, int64_t columns)
      : count_(rows),
        columns_(columns),
        memory_(static_cast<size_t>(kStart + rows * (columns + kGap)), kGuard) {
    fill([] { return std::numeric_limits<float>::quiet_NaN(); });
  }

  template <class Make>
  Matrix& fill(const Make& make) {
    for (int64_t r = 0; r < count_; ++r)
      for (int64_t c = 0; c < columns_; ++c) (*this)(r, c) = static_cast<float>(make());
    return *this;
  }
  Matrix& randomize(std::mt19937& random, float deviation = 1.0f) {
    std::normal_distribution<float> normal(0.0f, deviation);
    return fill([&] { return normal(random); });
  }

  float& operator()(int64_t row, int64_t column) { return data()[row * stride() + column]; }
  double operator()(int64_t row, int64_t column) const {
    return static_cast<double>(data()[row * stride() + column]);
  }
  float* data() { return memory_.data() + kStart; }
  const float* data() const { return memory_.data() + kStart; }
  int64_t stride() const { return columns_ + kGap; }
  int64_t rows() const { return count_; }
  int64_t columns() const { return columns_; }
  operator kernels::Rows() { return {data(), stride()}; }
  operator kernels::ConstRows() const { return {data(), stride()}; }

  // Whether the gaps are unchanged.
  bool intact() const {
    for (size_t i = 0; i < memory_.size(); ++i) {
      const int64_t at = static_cast<int64_t>(i) - kStart;
      if ((at < 0 || at % stride() >= columns_) && memory_[i] != kGuard) return false;
    }
    return true;
  }

 private:
  static constexpr int64_t kStart = 1, kGap = 3;
  static constexpr float kGuard = 12345.0f;
  int64_t count_, columns_;
  std::vector<float> memory_;
};

// A matrix rounded to bf16.
class NarrowMatrix {
 public:
  explicit NarrowMatrix(const Matrix& x)
      : columns_(x.columns()), bits_(static_cast<size_t>(x.rows() * x.stride())) {
    for (int64_t r = 0; r < x.rows(); ++r)
      kernels::to_bf16(x.data() + r * x.stride(), data() + r * stride(), x.columns());
  }

  uint16_t* data() { return bits_.data(); }
  const uint16_t* data() const { return bits_.data(); }
  int64_t stride() const { return columns_ + 3; }
  operator kernels::RowsOf<uint16_t>() { return {data(), stride()}; }
  operator kernels::RowsOf<const uint16_t>() const { return {data(), stride()}; }
  bool operator==(const NarrowMatrix&) const = default;

  // Its values as floats.
  void widen(Matrix& x) const {
    for (int64_t r = 0; r < x.rows(); ++r)
      kernels::from_bf16(data() + r * stride(), x.data() + r * x.stride(), columns_);
  }

 private:
  int64_t columns_;
  std::vector<uint16_t> bits_;
};

// actual - expected(row, column)| <= tolerance * max |expected|, or tolerance * `scale` if that is larger.
template <class Expected>
void expect_matrix(const Matrix& actual, const Expected& expected, double tolerance, const char* what,
                   double scale = 0) {
  double worst = 0;
  for (int64_t r = 0; r < actual.rows(); ++r) {
    for (int64_t c = 0; c < actual.columns(); ++c) {
      const double value = expected(r, c), difference = std::abs(actual(r, c) - value);
      scale = std::max(scale, std::abs(value));
      worst = difference <= worst ? worst : difference;  // NaN counts as worst
    }
  }
  EXPECT_TRUE(worst <= tolerance * scale) << what << ": differs by " << worst << " of " << scale;
  EXPECT_TRUE(actual.intact()) << what << ": wrote beside its rows";
}

// actual - expected(row, column)| <= tolerance * max(1, |expected|, |inputs at that position|).
template <class Expected>
void expect_elements(const Matrix& actual, std::initializer_list<const Matrix*> inputs,
                     const Expected& expected, double tolerance, const char* what) {
  EXPECT_TRUE(actual.intact()) << what << ": wrote beside its rows";
  for (int64_t r = 0; r < actual.rows(); ++r) {
    for (int64_t c = 0; c < actual.columns(); ++c) {
      const double value = expected(r, c);
      double size = std::max(1.0, std::abs(value));
      for (const Matrix* input : inputs) size = std::max(size, std::abs((*input)(r, c)));
      ASSERT_TRUE(std::abs(actual(r, c) - value) <= tolerance * size)
          << what << " at (" << r << ", " << c << "): " << actual(r, c) << ", expected " << value;
    }
  }
}

}  // namespace mega::testing
