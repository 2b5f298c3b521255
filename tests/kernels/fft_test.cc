// Fourier transforms and what convolutions need of them, against plain sums in double, on every instruction
// set.
#include "mega/kernels/fft.h"

#include <gtest/gtest.h>

#include <complex>
#include <random>
#include <vector>

#include "tests/kernels/helpers.h"

namespace mega::kernels {
namespace {

using Floats = std::vector<float>;
using Complex = std::complex<double>;
using mega::testing::for_each_target;

Floats random_floats(int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  Floats values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

Complex element(const Floats& data, int64_t index, int64_t lane) {
  const auto at = static_cast<size_t>(index * 2 * kFftLanes + lane);
  return {static_cast<double>(data[at]), static_cast<double>(data[at + kFftLanes])};
}

// Products of spectra are circular convolutions, whatever order the spectra have.
TEST(Fft, ProductsOfSpectraAreConvolutions) {
  for_each_target([] {
    std::mt19937 random(1);
    for (const int64_t size : {1, 2, 4, 8, 32, 64, 128}) {
      Floats roots(static_cast<size_t>(2 * size));
      fft_roots(size, roots.data());
      const Floats a = random_floats(fft_floats(size), random), b = random_floats(fft_floats(size), random);
      Floats x = a, y = b;
      fft_forward(roots.data(), size, x.data());
      fft_forward(roots.data(), size, y.data());
      Floats product = x, correlation(x.size(), 0.0f), conjugate = x;
      fft_multiply(y.data(), size, product.data());
      fft_multiply_conjugate(y.data(), size, conjugate.data());
      fft_add_correlation(x.data(), y.data(), size, correlation.data());
      for (Floats* spectrum : {&product, &conjugate, &correlation})
        fft_inverse(roots.data(), size, spectrum->data());
      const auto n = static_cast<double>(size);
      for (int64_t lane = 0; lane < kFftLanes; lane += 5)
        for (int64_t t = 0; t < size; ++t) {
          Complex sum = 0, shifted = 0;
          for (int64_t s = 0; s < size; ++s) {
            sum += element(a, s, lane) * element(b, (t - s + size) % size, lane);
            shifted += element(a, (t + s) % size, lane) * std::conj(element(b, s, lane));
          }
          EXPECT_LT(std::abs(element(product, t, lane) / n - sum), 1e-5 * n + 1e-5) << size;
          EXPECT_LT(std::abs(element(conjugate, t, lane) / n - shifted), 1e-5 * n + 1e-5) << size;
          EXPECT_LT(std::abs(element(correlation, t, lane) / n - shifted), 1e-5 * n + 1e-5) << size;
        }
    }
  });
}

TEST(Fft, LoadsAndStoresRows) {
  std::mt19937 random(2);
  constexpr int64_t kLength = 5, kLanes = 11, kStride = 14, kSize = 8;
  const Floats a = random_floats(kLength * kStride, random), b = random_floats(kLength * kStride, random);
  const std::vector<uint8_t> padding = {0, 1, 0, 0, 1};
  Floats data(static_cast<size_t>(fft_floats(kSize)), 7.0f);
  fft_load({a.data(), kStride, padding.data()}, {b.data(), kStride, nullptr}, kLength, kLanes, kSize,
           data.data());
  for (int64_t t = 0; t < kSize; ++t)
    for (int64_t lane = 0; lane < kFftLanes; ++lane) {
      const bool there = t < kLength && lane < kLanes;
      const auto at = static_cast<size_t>(t * kStride + lane);
      const double real = there && padding[static_cast<size_t>(t)] == 0 ? static_cast<double>(a[at]) : 0.0;
      EXPECT_EQ(element(data, t, lane), Complex(real, there ? static_cast<double>(b[at]) : 0.0));
    }
  Floats y(a.size(), 9.0f);
  fft_store(data.data(), 2.0f, kLength, kLanes, {}, {y.data(), kStride, padding.data()});
  for (int64_t t = 0; t < kLength; ++t)
    for (int64_t lane = 0; lane < kStride; ++lane) {
      const auto at = static_cast<size_t>(t * kStride + lane);
      const float expected = padding[static_cast<size_t>(t)] != 0 ? 0.0f : 2.0f * b[at];
      EXPECT_EQ(y[at], lane < kLanes ? expected : 9.0f);
    }
}

TEST(Fft, SizesArePowersOfTwo) {
  EXPECT_EQ(fft_size(1), 1);
  EXPECT_EQ(fft_size(5), 8);
  EXPECT_EQ(fft_size(4096), 4096);
}

}  // namespace
}  // namespace mega::kernels
