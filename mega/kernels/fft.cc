#include "mega/kernels/fft.h"

#include "mega/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mega/kernels/fft.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "mega/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<float, kFftLanes>;
using V = hn::Vec<Tag>;

constexpr int64_t kVector = hn::MaxLanes(Tag());
constexpr int64_t kElement = 2 * kFftLanes;

struct Complex {
  V re, im;
};

HWY_INLINE Complex Load(const float* at) { return {hn::LoadU(Tag(), at), hn::LoadU(Tag(), at + kFftLanes)}; }
HWY_INLINE void Store(Complex z, float* at) {
  hn::StoreU(z.re, Tag(), at);
  hn::StoreU(z.im, Tag(), at + kFftLanes);
}
HWY_INLINE Complex Add(Complex a, Complex b) { return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)}; }
HWY_INLINE Complex Sub(Complex a, Complex b) { return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)}; }
// a - i b and a + i b.
HWY_INLINE Complex SubTurned(Complex a, Complex b) { return {hn::Add(a.re, b.im), hn::Sub(a.im, b.re)}; }
HWY_INLINE Complex AddTurned(Complex a, Complex b) { return {hn::Sub(a.re, b.im), hn::Add(a.im, b.re)}; }
HWY_INLINE Complex Mul(Complex a, Complex b) {
  return {hn::NegMulAdd(a.im, b.im, hn::Mul(a.re, b.re)), hn::MulAdd(a.re, b.im, hn::Mul(a.im, b.re))};
}
HWY_INLINE Complex MulConjugate(Complex a, Complex b) {
  return {hn::MulAdd(a.im, b.im, hn::Mul(a.re, b.re)), hn::NegMulAdd(a.re, b.im, hn::Mul(a.im, b.re))};
}
HWY_INLINE Complex Root(const float* roots, int64_t j) {
  return {hn::Set(Tag(), roots[2 * j]), hn::Set(Tag(), roots[2 * j + 1])};
}

void Pair(float* data) {
  for (int64_t lane = 0; lane < kFftLanes; lane += kVector) {
    float *first = data + lane, *second = first + kElement;
    const Complex a = Load(first), b = Load(second);
    Store(Add(a, b), first);
    Store(Sub(a, b), second);
  }
}

// Decimation in frequency, by four: the quarters of the result are transforms of their own, of the
// frequencies 0, 1, 2 and 3 modulo 4. Depth first, so that smaller transforms stay in the cache. `step` is
// the distance of this size's roots in the table.
void Forward(const float* roots, int64_t step, int64_t size, float* data) {
  if (size == 1) return;
  if (size == 2) return Pair(data);
  const int64_t quarter = size / 4, distance = quarter * kElement;
  for (int64_t j = 0; j < quarter; ++j) {
    const Complex w1 = Root(roots, j * step), w2 = Root(roots, 2 * j * step), w3 = Root(roots, 3 * j * step);
    for (int64_t lane = 0; lane < kFftLanes; lane += kVector) {
      float* at = data + j * kElement + lane;
      const Complex a0 = Load(at), a1 = Load(at + distance), a2 = Load(at + 2 * distance),
                    a3 = Load(at + 3 * distance);
      const Complex even = Add(a0, a2), even_difference = Sub(a0, a2), odd = Add(a1, a3),
                    odd_difference = Sub(a1, a3);
      Store(Add(even, odd), at);
      Store(Mul(SubTurned(even_difference, odd_difference), w1), at + distance);
      Store(Mul(Sub(even, odd), w2), at + 2 * distance);
      Store(Mul(AddTurned(even_difference, odd_difference), w3), at + 3 * distance);
    }
  }
  for (int64_t k = 0; k < 4; ++k) Forward(roots, 4 * step, quarter, data + k * distance);
}

// The same steps undone, in the opposite order, but for a factor of 4 each.
void Inverse(const float* roots, int64_t step, int64_t size, float* data) {
  if (size == 1) return;
  if (size == 2) return Pair(data);
  const int64_t quarter = size / 4, distance = quarter * kElement;
  for (int64_t k = 0; k < 4; ++k) Inverse(roots, 4 * step, quarter, data + k * distance);
  for (int64_t j = 0; j < quarter; ++j) {
    const Complex w1 = Root(roots, j * step), w2 = Root(roots, 2 * j * step), w3 = Root(roots, 3 * j * step);
    for (int64_t lane = 0; lane < kFftLanes; lane += kVector) {
      float* at = data + j * kElement + lane;
      const Complex b0 = Load(at), b1 = MulConjugate(Load(at + distance), w1),
                    b2 = MulConjugate(Load(at + 2 * distance), w2),
                    b3 = MulConjugate(Load(at + 3 * distance), w3);
      const Complex even = Add(b0, b2), odd = Sub(b0, b2), sum = Add(b1, b3), difference = Sub(b1, b3);
      Store(Add(even, sum), at);
      Store(AddTurned(odd, difference), at + distance);
      Store(Sub(even, sum), at + 2 * distance);
      Store(SubTurned(odd, difference), at + 3 * distance);
    }
  }
}

void ForwardAll(const float* roots, int64_t size, float* data) { Forward(roots, 1, size, data); }
void InverseAll(const float* roots, int64_t size, float* data) { Inverse(roots, 1, size, data); }

// Calls body(offset) for every vector of real parts.
template <class Body>
HWY_INLINE void EachVector(int64_t size, const Body& body) {
  for (int64_t element = 0; element < size; ++element)
    for (int64_t lane = 0; lane < kFftLanes; lane += kVector) body(element * kElement + lane);
}

void Multiply(const float* factor, int64_t size, float* data) {
  EachVector(size, [&](int64_t at) { Store(Mul(Load(data + at), Load(factor + at)), data + at); });
}

void MultiplyConjugate(const float* factor, int64_t size, float* data) {
  EachVector(size, [&](int64_t at) { Store(MulConjugate(Load(data + at), Load(factor + at)), data + at); });
}

void AddCorrelation(const float* data, const float* factor, int64_t size, float* sum) {
  EachVector(size, [&](int64_t at) {
    Store(Add(Load(sum + at), MulConjugate(Load(data + at), Load(factor + at))), sum + at);
  });
}

}  // namespace
}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mega::kernels {

MEGA_EXPORT(ForwardAll);
MEGA_EXPORT(InverseAll);
MEGA_EXPORT(Multiply);
MEGA_EXPORT(MultiplyConjugate);
MEGA_EXPORT(AddCorrelation);

int64_t fft_size(int64_t least) {
  int64_t size = 1;
  while (size < least) size *= 2;
  return size;
}

void fft_roots(int64_t size, float* roots) {
  constexpr double kTurn = 6.283185307179586476925;
  for (int64_t j = 0; j < size; ++j) {
    const double angle = -kTurn * static_cast<double>(j) / static_cast<double>(size);
    roots[2 * j] = static_cast<float>(std::cos(angle));
    roots[2 * j + 1] = static_cast<float>(std::sin(angle));
  }
}

void fft_forward(const float* roots, int64_t size, float* data) {
  MEGA_DISPATCH(ForwardAll)(roots, size, data);
}

void fft_inverse(const float* roots, int64_t size, float* data) {
  MEGA_DISPATCH(InverseAll)(roots, size, data);
}

void fft_multiply(const float* factor, int64_t size, float* data) {
  MEGA_DISPATCH(Multiply)(factor, size, data);
}

void fft_multiply_conjugate(const float* factor, int64_t size, float* data) {
  MEGA_DISPATCH(MultiplyConjugate)(factor, size, data);
}

void fft_add_correlation(const float* data, const float* factor, int64_t size, float* sum) {
  MEGA_DISPATCH(AddCorrelation)(data, factor, size, sum);
}

namespace {

// One part of every element: the real one at 0, the imaginary one at kFftLanes.
void load_part(const FftRows& rows, int64_t length, int64_t lanes, float* part) {
  for (int64_t t = 0; t < length; ++t) {
    float* to = part + t * 2 * kFftLanes;
    const bool present = rows.data != nullptr && (rows.padding == nullptr || rows.padding[t] == 0);
    const int64_t used = present ? lanes : 0;
    for (int64_t lane = 0; lane < used; ++lane) to[lane] = rows.data[t * rows.stride + lane];
    std::fill(to + used, to + kFftLanes, 0.0f);
  }
}

void store_part(const float* part, float scale, int64_t length, int64_t lanes, const FftTarget& target) {
  if (target.data == nullptr) return;
  for (int64_t t = 0; t < length; ++t) {
    const float* from = part + t * 2 * kFftLanes;
    float* to = target.data + t * target.stride;
    const bool present = target.padding == nullptr || target.padding[t] == 0;
    for (int64_t lane = 0; lane < lanes; ++lane) to[lane] = present ? scale * from[lane] : 0.0f;
  }
}

}  // namespace

void fft_load(const FftRows& real, const FftRows& imaginary, int64_t length, int64_t lanes, int64_t size,
              float* data) {
  load_part(real, length, lanes, data);
  load_part(imaginary, length, lanes, data + kFftLanes);
  std::fill(data + fft_floats(length), data + fft_floats(size), 0.0f);
}

void fft_store(const float* data, float scale, int64_t length, int64_t lanes, const FftTarget& real,
               const FftTarget& imaginary) {
  store_part(data, scale, length, lanes, real);
  store_part(data + kFftLanes, scale, length, lanes, imaginary);
}

}  // namespace mega::kernels
#endif
