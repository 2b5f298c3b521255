#include "mega/kernels/attention_step.h"

#include "mega/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mega/kernels/attention_step.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "mega/kernels/attention_weight-inl.h"
#include "mega/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {

// Keys processed per pass over the query or the output. The next group is prefetched meanwhile: hardware
// prefetching alone leaves up to half of the memory bandwidth unused.
constexpr int kGroup = 8;

template <class Number>
HWY_INLINE void Fetch(const Number* p) {
  __builtin_prefetch(p, 0, 2);  // read access, into the L2 cache
}

// scores[i] = q . k_i for kKeys keys. Each sum has its own accumulator, so a score does not depend on the
// number of keys.
template <int kKeys, class Number>
HWY_INLINE void Products(const float* HWY_RESTRICT query, const Number* keys, const Number* next,
                         int64_t shared, float* HWY_RESTRICT scores) {
  const Floats d;
  Vector sums[kKeys];
  for (Vector& sum : sums) sum = hn::Zero(d);
  ForVectors(shared, [&](auto view, int64_t c) HWY_ATTR {
    const Vector q = view.Load(query + c);
    for (int i = 0; i < kKeys; ++i) {
      sums[i] = hn::MulAdd(q, view.Load(keys + i * shared + c), sums[i]);
      Fetch(next + i * shared + c);
    }
  });
  for (int i = 0; i < kKeys; ++i) scores[i] = hn::GetLane(hn::SumOfLanes(d, sums[i]));
}

// out += sum_i weights[i] v_i over kKeys values, in order.
template <int kKeys, class Number>
HWY_INLINE void AddValues(const float* HWY_RESTRICT weights, const Number* values, const Number* next,
                          int64_t width, float* HWY_RESTRICT out) {
  const Floats d;
  Vector factors[kKeys];
  for (int i = 0; i < kKeys; ++i) factors[i] = hn::Set(d, weights[i]);
  ForVectors(width, [&](auto view, int64_t c) HWY_ATTR {
    Vector sum = view.Load(out + c);
    for (int i = 0; i < kKeys; ++i) {
      sum = hn::MulAdd(factors[i], view.Load(values + i * width + c), sum);
      Fetch(next + i * width + c);
    }
    view.Store(sum, out + c);
  });
}

// Calls body(kKeys, j, rows, next) for each group of kKeys rows starting at row j; `rows` points to the
// group, `next` to the group after it.
template <class Number, class Body>
HWY_INLINE void ForGroups(const Number* matrix, int64_t count, int64_t width, const Body& body) {
  int64_t j = 0;
  for (; j + kGroup <= count; j += kGroup) {
    const int64_t next = j + 2 * kGroup <= count ? j + kGroup : j;
    body(std::integral_constant<int, kGroup>(), j, matrix + j * width, matrix + next * width);
  }
  for (; j < count; ++j) body(std::integral_constant<int, 1>(), j, matrix + j * width, matrix + j * width);
}

// Turns products into weights in place; for softmax also sets their maximum and sum.
template <AttentionFunction kFunction>
HWY_INLINE void Weigh(const AttentionStep& step, int64_t count, float* scores, PartialAttention& partial) {
  const Floats d;
  const Vector scale = hn::Set(d, step.scale);
  ForVectors(count, [&](auto view, int64_t c) HWY_ATTR {
    const Vector product = view.Load(scores + c);
    view.Store(
        step.bias == nullptr ? hn::Mul(product, scale) : hn::MulAdd(product, scale, view.Load(step.bias + c)),
        scores + c);
  });

  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t width = (count + lanes - 1) / lanes * lanes;
  std::fill(scores + count, scores + width, -kInfinity);
  if constexpr (kFunction == AttentionFunction::softmax) {
    Vector largest = hn::Set(d, -kInfinity);
    for (int64_t c = 0; c < width; c += lanes) largest = hn::Max(largest, hn::Load(d, scores + c));
    partial.maximum = hn::GetLane(hn::MaxOfLanes(d, largest));
    partial.sum = ExpScores(scores, width, partial.maximum);
  } else {
    for (int64_t c = 0; c < width; c += lanes)
      hn::Store(Weight<kFunction>(d, hn::Load(d, scores + c)).value, d, scores + c);
  }
}

template <class Number>
HWY_INLINE void Attend(const AttentionStep& step, const Number* keys, const Number* values, int64_t count,
                       float* scores, PartialAttention& partial) {
  ForGroups(keys, count, step.shared,
            [&](auto group, int64_t j, const Number* rows, const Number* next)
                HWY_ATTR { Products<group()>(step.query, rows, next, step.shared, scores + j); });
  switch (step.function) {
    case AttentionFunction::softmax:
      Weigh<AttentionFunction::softmax>(step, count, scores, partial);
      break;
    case AttentionFunction::relu2:
      Weigh<AttentionFunction::relu2>(step, count, scores, partial);
      break;
    case AttentionFunction::laplace:
      Weigh<AttentionFunction::laplace>(step, count, scores, partial);
      break;
  }

  std::fill_n(partial.out, step.values, 0.0f);
  ForGroups(values, count, step.values,
            [&](auto group, int64_t j, const Number* rows, const Number* next)
                HWY_ATTR { AddValues<group()>(scores + j, rows, next, step.values, partial.out); });
}

void AttendPage(const AttentionStep& step, const KeyValuePage& page, float* scores,
                PartialAttention& partial) {
  if (page.type == WeightType::bf16) {
    Attend(step, static_cast<const uint16_t*>(page.keys), static_cast<const uint16_t*>(page.values),
           page.count, scores, partial);
  } else {
    Attend(step, static_cast<const float*>(page.keys), static_cast<const float*>(page.values), page.count,
           scores, partial);
  }
}

// out = sum of factor(page) * partials[page].out
template <class Factor>
HWY_INLINE void AddPartials(const PartialAttention* partials, int64_t pages, int64_t values, float* out,
                            const Factor& factor) {
  std::fill_n(out, values, 0.0f);
  for (int64_t p = 0; p < pages; ++p) {
    const float weight = factor(partials[p]);
    AddValues<1>(&weight, partials[p].out, partials[p].out, values, out);
  }
}

void MergePartials(AttentionFunction function, const PartialAttention* partials, int64_t pages,
                   int64_t values, float* out) {
  if (function != AttentionFunction::softmax)
    return AddPartials(partials, pages, values, out, [](const PartialAttention&) { return 1.0f; });

  float maximum = -std::numeric_limits<float>::infinity();
  for (int64_t p = 0; p < pages; ++p) maximum = std::max(maximum, partials[p].maximum);
  // A page whose keys are all masked has no maximum and a sum of 0.
  const auto correction = [&](const PartialAttention& partial) {
    return partial.sum == 0.0f ? 0.0f : std::exp(partial.maximum - maximum);
  };
  float sum = 0.0f;
  for (int64_t p = 0; p < pages; ++p) sum += correction(partials[p]) * partials[p].sum;
  const float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
  AddPartials(partials, pages, values, out,
              [&](const PartialAttention& partial) { return correction(partial) * inverse; });
}

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mega::kernels {

MEGA_EXPORT(AttendPage);
MEGA_EXPORT(MergePartials);

void attention_step(const AttentionStep& step, const KeyValuePage& page, float* scores,
                    PartialAttention& partial) {
  MEGA_DISPATCH(AttendPage)(step, page, scores, partial);
}
void merge_attention(AttentionFunction function, const PartialAttention* partials, int64_t pages,
                     int64_t values, float* out) {
  MEGA_DISPATCH(MergePartials)(function, partials, pages, values, out);
}

}  // namespace mega::kernels
#endif
