#include "mega/kernels/log_softmax.h"

#include "mega/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mega/kernels/log_softmax.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
//
#include <hwy/contrib/math/math-inl.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "mega/kernels/dispatch.h"
#include "mega/kernels/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {

HWY_INLINE float LargestOf(const float* x, int64_t columns) {
  const Floats d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  float largest = -std::numeric_limits<float>::infinity();
  int64_t c = 0;
  if (columns >= lanes) {
    Vector all = hn::Set(d, largest);
    for (; c + lanes <= columns; c += lanes) all = hn::Max(all, hn::LoadU(d, x + c));
    largest = hn::GetLane(hn::MaxOfLanes(d, all));
  }
  for (; c < columns; ++c) largest = std::max(largest, x[c]);
  return largest;
}

// Σ exp(x - largest); blocks are added in double, so that a large vocabulary loses no digits.
HWY_INLINE double ExpSumOf(const float* x, int64_t columns, float largest) {
  const Floats d;
  constexpr int64_t kBlock = 4096;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const Vector shift = hn::Set(d, largest);
  double sum = 0.0;
  for (int64_t begin = 0; begin < columns; begin += kBlock) {
    const int64_t end = std::min(columns, begin + kBlock);
    Vector some = hn::Zero(d);
    int64_t c = begin;
    for (; c + lanes <= end; c += lanes)
      some = hn::Add(some, BoundedExp(d, hn::Sub(hn::LoadU(d, x + c), shift)));
    sum += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, some)));
    for (; c < end; ++c) sum += static_cast<double>(std::exp(x[c] - largest));
  }
  return sum;
}

void LogSoftmaxRows(ConstRows x, Rows y, int64_t begin, int64_t end, int64_t columns) {
  const Floats d;
  for (int64_t row = begin; row < end; ++row) {
    const float largest = LargestOf(x[row], columns);
    const Vector first = hn::Set(d, largest);
    const Vector second = hn::Set(d, static_cast<float>(std::log(ExpSumOf(x[row], columns, largest))));
    ForVectors(columns, [&](auto view, int64_t c) HWY_ATTR {
      view.Store(hn::Sub(hn::Sub(view.Load(x[row] + c), first), second), y[row] + c);
    });
  }
}

// Blocks are added in double, as above.
HWY_INLINE double SumOf(const float* x, int64_t columns) {
  const Floats d;
  constexpr int64_t kBlock = 4096;
  double sum = 0.0;
  for (int64_t begin = 0; begin < columns; begin += kBlock) {
    Vector some = hn::Zero(d);
    ForVectors(std::min(columns - begin, kBlock),
               [&](auto view, int64_t c) HWY_ATTR { some = hn::Add(some, view.Load(x + begin + c)); });
    sum += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, some)));
  }
  return sum;
}

void SoftmaxSums(ConstRows x, float* normalizer, float* mean, int64_t begin, int64_t end, int64_t columns) {
  for (int64_t row = begin; row < end; ++row) {
    const float largest = LargestOf(x[row], columns);
    normalizer[row] =
        static_cast<float>(static_cast<double>(largest) + std::log(ExpSumOf(x[row], columns, largest)));
    mean[row] = static_cast<float>(SumOf(x[row], columns) / static_cast<double>(columns));
  }
}

void SoftmaxGradientRows(Rows x, const float* normalizer, const float* gradient, float share, int64_t begin,
                         int64_t end, int64_t columns) {
  const Floats d;
  const Vector spread = hn::Set(d, share);
  for (int64_t row = begin; row < end; ++row) {
    const Vector shift = hn::Set(d, normalizer[row]), factor = hn::Set(d, gradient[row]);
    ForVectors(columns, [&](auto view, int64_t c) HWY_ATTR {
      const Vector probability = BoundedExp(d, hn::Sub(view.Load(x[row] + c), shift));
      view.Store(hn::Mul(hn::Sub(probability, spread), factor), x[row] + c);
    });
  }
}

void LogMean(const float* const* x, int64_t count, float* y, int64_t columns) {
  const Floats d;
  const Vector lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  const Vector inverse = hn::Set(d, 1.0f / static_cast<float>(count));
  ForVectors(columns, [&](auto view, int64_t c) HWY_ATTR {
    Vector largest = view.Load(x[0] + c);
    auto broken = hn::IsNaN(largest);
    for (int64_t i = 1; i < count; ++i) {
      const Vector value = view.Load(x[i] + c);
      broken = hn::Or(broken, hn::IsNaN(value));
      largest = hn::Max(largest, value);
    }
    Vector sum = hn::Zero(d);
    for (int64_t i = 0; i < count; ++i)
      sum = hn::Add(sum, BoundedExp(d, hn::Sub(view.Load(x[i] + c), largest)));
    Vector mean = hn::Add(largest, hn::Log(d, hn::Mul(sum, inverse)));
    // Impossible for all: the difference of two infinities is no number.
    mean = hn::IfThenElse(hn::Eq(largest, lowest), lowest, mean);
    view.Store(hn::IfThenElse(broken, hn::Set(d, std::numeric_limits<float>::quiet_NaN()), mean), y + c);
  });
}

int64_t FindNotBelow(const float* x, int64_t begin, int64_t end, float threshold) {
  const Floats d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const Vector limit = hn::Set(d, threshold);
  int64_t c = begin;
  // Four vectors at a time: most of a vocabulary is far below.
  for (; c + 4 * lanes <= end; c += 4 * lanes) {
    const auto below =
        hn::And(hn::And(hn::Lt(hn::LoadU(d, x + c), limit), hn::Lt(hn::LoadU(d, x + c + lanes), limit)),
                hn::And(hn::Lt(hn::LoadU(d, x + c + 2 * lanes), limit),
                        hn::Lt(hn::LoadU(d, x + c + 3 * lanes), limit)));
    if (!hn::AllTrue(d, below)) break;
  }
  while (c < end && x[c] < threshold) ++c;
  return c;
}

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mega::kernels {

MEGA_EXPORT(LogSoftmaxRows);
MEGA_EXPORT(SoftmaxSums);
MEGA_EXPORT(SoftmaxGradientRows);
MEGA_EXPORT(LogMean);
MEGA_EXPORT(FindNotBelow);

void log_softmax(ConstRows x, Rows y, int64_t begin, int64_t end, int64_t columns) {
  MEGA_DISPATCH(LogSoftmaxRows)(x, y, begin, end, columns);
}
void softmax_sums(ConstRows x, float* normalizer, float* mean, int64_t begin, int64_t end, int64_t columns) {
  MEGA_DISPATCH(SoftmaxSums)(x, normalizer, mean, begin, end, columns);
}
void softmax_gradient(Rows x, const float* normalizer, const float* gradient, float share, int64_t begin,
                      int64_t end, int64_t columns) {
  MEGA_DISPATCH(SoftmaxGradientRows)(x, normalizer, gradient, share, begin, end, columns);
}
void log_mean(const float* const* x, int64_t count, float* y, int64_t columns) {
  MEGA_DISPATCH(LogMean)(x, count, y, columns);
}
int64_t find_not_below(const float* x, int64_t begin, int64_t end, float threshold) {
  return MEGA_DISPATCH(FindNotBelow)(x, begin, end, threshold);
}

}  // namespace mega::kernels
#endif
