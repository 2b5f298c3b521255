#include "mega/infer/layers/ema.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "mega/kernels/complex_ema.h"
#include "mega/kernels/ema.h"

namespace mega::infer {
namespace {

using kernels::EmaOutput;
using kernels::EmaRows;
using kernels::EmaTime;
using kernels::EmaWeights;
using kernels::kEmaLanes;

double sigmoid(float x) { return 1.0 / (1.0 + std::exp(-static_cast<double>(x))); }

EmaRows rows_of(kernels::ConstRows x, const Segment& segment, int64_t group, int64_t width) {
  const int64_t first = group * kEmaLanes;
  return {x[segment.begin] + first, x.stride, segment.length, std::min(kEmaLanes, width - first), nullptr};
}

}  // namespace

MovingAverage::MovingAverage(WeightFile& file, const std::string& name, int64_t width,
                             const EmaOptions& options)
    : width_(width),
      n_(options.kind == EmaKind::complex ? options.dimension : state_numbers(options)),
      numbers_(state_numbers(options)),
      options_(options) {
  const auto made = [&](int64_t row) {
    return is_complex() ? complex_direction(file, name, row) : direction(file, name, row);
  };
  back_ = made(0);
  if (options.bidirectional) ahead_ = made(width);
  if (options.skip) skip_ = file.numbers(name + ".omega", width).data();
}

// p = sigma(delta), q = 1 - p sigma(alpha): equation 5, or equations 2 and 3, which lack some of the terms.
// The released implementation divides eta by sqrt(N).
MovingAverage::Direction MovingAverage::direction(WeightFile& file, const std::string& name,
                                                  int64_t first_row) const {
  const int64_t count = width_ * n_, all = options_.bidirectional ? 2 * count : count;
  const auto part = [&](const char* parameter) {
    return file.numbers(name + parameter, all)
        .subspan(static_cast<size_t>(first_row * n_), static_cast<size_t>(count));
  };
  const bool damped = options_.kind != EmaKind::plain;
  const bool expanded = options_.kind == EmaKind::multidimensional;
  const bool exchanged = options_.exchanged && damped;
  const auto delta = part(exchanged ? ".alpha" : ".delta");
  const auto alpha = damped ? part(exchanged ? ".delta" : ".alpha") : delta;
  const auto beta = expanded ? part(".beta") : delta;
  const auto gamma = expanded ? part(".gamma") : delta;
  const double scale = options_.scaled ? 1.0 / std::sqrt(static_cast<double>(n_)) : 1.0;
  const auto size = static_cast<size_t>(count);
  std::vector<float> decay(size), input(size), output(size), product(size), cut(size);
  for (size_t i = 0; i < size; ++i) {
    const double p = sigmoid(delta[i]);
    const double q = damped ? 1.0 - p * sigmoid(alpha[i]) : 1.0 - p;
    const double b = expanded ? p * static_cast<double>(beta[i]) : p;
    const double c = expanded ? static_cast<double>(gamma[i]) * scale : 1.0;
    decay[i] = static_cast<float>(q);
    input[i] = static_cast<float>(b);
    output[i] = static_cast<float>(c);
    product[i] = static_cast<float>(b * c);
    if (options_.truncation > 0)
      cut[i] = static_cast<float>(std::pow(q, static_cast<double>(options_.truncation)));
  }
  const auto packed = [&](const std::vector<float>& values) {
    AlignedVector<float> result(static_cast<size_t>(state_size()));
    kernels::ema_pack(values.data(), width_, n_, result.data());
    return result;
  };
  Direction made{packed(decay), packed(input), packed(output), {}, {}};
  if (needs_product()) made.product = packed(product);
  if (options_.truncation > 0) made.cut = packed(cut);
  return made;
}

// As nn::Ema: p = sigma(alpha), |q| = 1 - p sigma(delta), turned by k / N of the share sigma(theta) of a
// turn.
MovingAverage::Direction MovingAverage::complex_direction(WeightFile& file, const std::string& name,
                                                          int64_t first_row) const {
  constexpr double kTurn = 6.283185307179586476925;
  const int64_t rows = options_.bidirectional ? 2 * width_ : width_;
  const auto part = [&](const char* parameter, int64_t columns) {
    return file.numbers(name + parameter, rows * columns)
        .subspan(static_cast<size_t>(first_row * columns), static_cast<size_t>(width_ * columns));
  };
  const auto alpha = part(".alpha", n_), delta = part(".delta", n_), theta = part(".theta", 1),
             gamma = part(".gamma", 2 * n_);
  const auto n = static_cast<double>(n_), scale = options_.scaled ? 1.0 / std::sqrt(n) : 1.0;
  std::vector<float> decay(gamma.size()), input(alpha.size()), output(gamma.size());
  for (size_t i = 0; i < alpha.size(); ++i) {
    const double p = sigmoid(alpha[i]), size = 1.0 - p * sigmoid(delta[i]);
    const auto channel = static_cast<int64_t>(i) / n_, k = static_cast<int64_t>(i) % n_ + 1;
    const double phase = kTurn / n * static_cast<double>(k) * sigmoid(theta[static_cast<size_t>(channel)]);
    input[i] = static_cast<float>(p);
    decay[2 * i] = static_cast<float>(size * std::cos(phase));
    decay[2 * i + 1] = static_cast<float>(size * std::sin(phase));
    for (const size_t j : {2 * i, 2 * i + 1})
      output[j] = static_cast<float>(static_cast<double>(gamma[j]) * scale);
  }
  const auto packed = [&](const std::vector<float>& values, int64_t columns) {
    AlignedVector<float> result(static_cast<size_t>(kernels::ema_groups(width_) * columns * kEmaLanes));
    kernels::ema_pack(values.data(), width_, columns, result.data());
    return result;
  };
  return {packed(decay, 2 * n_), packed(input, n_), packed(output, 2 * n_), {}, {}};
}

void MovingAverage::turn(const EmaRows& x, const Direction& direction, int64_t group, bool reverse,
                         float* state, const EmaOutput& output) const {
  const int64_t at = group * n_ * kEmaLanes;
  kernels::complex_ema_scan(
      x, {n_, direction.decay.data() + 2 * at, direction.input.data() + at, direction.output.data() + 2 * at},
      {0, x.length, reverse}, state, output);
}

int64_t MovingAverage::state_size() const { return kernels::ema_groups(width_) * numbers_ * kEmaLanes; }

void MovingAverage::forward(kernels::ConstRows x, kernels::Rows y, std::span<const Segment> segments,
                            size_t index, const Run& run) const {
  const int64_t groups = kernels::ema_groups(width_), count = std::ssize(segments);
  int64_t rows = 0;
  for (const Segment& segment : segments) rows += segment.length;
  const int64_t steps = std::max<int64_t>(1, rows / count) * n_ * kEmaLanes;
  constexpr int64_t kWorthwhile = 2048;  // averages
  // Texts are the inner loop within a group of channels: the weights stay in the cache.
  run.pool.run(count * groups, (kWorthwhile + steps - 1) / steps, [&](int64_t begin, int64_t end) {
    AlignedVector<float> fresh;
    for (int64_t item = begin; item < end; ++item) {
      const Segment& segment = segments[static_cast<size_t>(item % count)];
      const int64_t group = item / count;
      if (segment.state != nullptr) {
        stream(x, y, segment, group,
               segment.state->blocks[index].averages.data() + group * numbers_ * kEmaLanes);
      } else {
        fresh.assign(static_cast<size_t>(numbers_ * kEmaLanes), 0.0f);
        if (needs_product()) {
          whole(x, y, segment, group, fresh.data());
        } else {
          stream(x, y, segment, group, fresh.data());
        }
      }
    }
  });
}

void MovingAverage::stream(kernels::ConstRows x, kernels::Rows y, const Segment& segment, int64_t group,
                           float* state) const {
  const int64_t at = group * n_ * kEmaLanes, first = group * kEmaLanes;
  EmaWeights weights;
  weights.n = n_;
  weights.decay = back_.decay.data() + at;
  weights.input = back_.input.data() + at;
  weights.output = back_.output.data() + at;
  EmaOutput output;
  output.data = y[segment.begin] + first;
  output.stride = y.stride;
  output.skip = skip_ == nullptr ? nullptr : skip_ + first;
  output.silu = options_.activated;
  if (is_complex()) return turn(rows_of(x, segment, group, width_), back_, group, false, state, output);
  kernels::ema_scan(rows_of(x, segment, group, width_), weights, {0, segment.length, false}, state, &output);
}

void MovingAverage::whole(kernels::ConstRows x, kernels::Rows y, const Segment& segment, int64_t group,
                          float* state) const {
  const int64_t at = group * n_ * kEmaLanes, first = group * kEmaLanes;
  EmaRows rows = rows_of(x, segment, group, width_);
  bool accumulate = false;
  const auto scan = [&](const Direction& direction, bool reverse, bool last) {
    EmaWeights weights;
    weights.n = n_;
    weights.decay = direction.decay.data() + at;
    if (!is_complex()) weights.output = direction.product.data() + at;
    weights.truncation = options_.truncation;
    if (options_.truncation > 0) weights.cut = direction.cut.data() + at;
    EmaOutput output;
    output.data = y[segment.begin] + first;
    output.stride = y.stride;
    output.accumulate = std::exchange(accumulate, true);
    output.skip = !last || skip_ == nullptr ? nullptr : skip_ + first;
    output.silu = last && options_.activated;
    std::fill_n(state, numbers_ * kEmaLanes, 0.0f);
    if (is_complex()) return turn(rows, direction, group, reverse, state, output);
    kernels::ema_scan(rows, weights, {0, rows.length, reverse}, state, &output);
  };
  if (options_.bidirectional && options_.shift) {
    // What follows a position is what it and its followers are in the sequence without its first position.
    const EmaRows all = rows;
    rows.data += rows.stride;
    --rows.length;
    std::fill_n(y[segment.begin + segment.length - 1] + first, rows.lanes, 0.0f);
    scan(ahead_, true, false);
    rows = all;
    scan(back_, false, true);
    return;
  }
  scan(back_, false, !options_.bidirectional);
  if (options_.bidirectional) scan(ahead_, true, true);
}

}  // namespace mega::infer
