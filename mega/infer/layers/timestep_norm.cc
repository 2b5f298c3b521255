#include "mega/infer/layers/timestep_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace mega::infer {
namespace {

constexpr double kEpsilon = 1e-5;

}  // namespace

TimestepNorm::TimestepNorm(WeightFile& file, const std::string& name, int64_t width, int64_t groups,
                           bool affine)
    : width_(width), groups_(groups) {
  if (!affine) return;
  weight_ = file.numbers(name + ".weight", width).data();
  bias_ = file.numbers(name + ".bias", width).data();
}

void TimestepNorm::forward(kernels::ConstRows x, kernels::Rows y, std::span<const Segment> segments,
                           size_t index, const Run& run) const {
  const int64_t texts = std::ssize(segments);
  int64_t rows = 0;
  for (const Segment& segment : segments) rows += segment.length;
  const int64_t numbers = std::max<int64_t>(1, rows / texts * (width_ / groups_));
  constexpr int64_t kWorthwhile = 8192;
  run.pool.run(texts * groups_, (kWorthwhile + numbers - 1) / numbers, [&](int64_t begin, int64_t end) {
    std::vector<float> fresh;
    for (int64_t item = begin; item < end; ++item) {
      const Segment& segment = segments[static_cast<size_t>(item % texts)];
      float* statistics = nullptr;
      if (segment.state != nullptr) {
        statistics = segment.state->blocks[index].statistics.data();
      } else {
        fresh.assign(static_cast<size_t>(state_size()), 0.0f);
        statistics = fresh.data();
      }
      group(x, y, segment, item / texts, static_cast<double>(statistics[0]), statistics);
    }
  });
  for (const Segment& segment : segments)
    if (segment.state != nullptr)
      segment.state->blocks[index].statistics[0] += static_cast<float>(segment.length);
}

// A position's statistics enter the running ones with the weight of one position; then it is normalised by
// those.
void TimestepNorm::group(kernels::ConstRows x, kernels::Rows y, const Segment& segment, int64_t group,
                         double count, float* statistics) const {
  const int64_t channels = width_ / groups_, first = group * channels;
  const auto size = static_cast<double>(channels);
  float &stored_mean = statistics[1 + group], &stored_variance = statistics[1 + groups_ + group];
  auto mean = static_cast<double>(stored_mean), variance = static_cast<double>(stored_variance);
  for (int64_t t = segment.begin; t < segment.begin + segment.length; ++t) {
    const float* from = x[t] + first;
    float* to = y[t] + first;
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < channels; ++i) sum += static_cast<double>(from[i]);
    const double own = sum / size;
    for (int64_t i = 0; i < channels; ++i) {
      const double off = static_cast<double>(from[i]) - own;
      squares += off * off;
    }
    const double share = 1.0 / (count + 1.0), off = own - mean;
    mean += share * off;
    variance = (1.0 - share) * variance + share * (squares / size) + share * (1.0 - share) * off * off;
    count += 1.0;
    const double scale = 1.0 / std::sqrt(variance + kEpsilon);
    for (int64_t i = 0; i < channels; ++i) {
      const double normal = (static_cast<double>(from[i]) - mean) * scale;
      const auto weight = weight_ == nullptr ? 1.0 : 1.0 + static_cast<double>(weight_[first + i]);
      const auto bias = bias_ == nullptr ? 0.0 : static_cast<double>(bias_[first + i]);
      to[i] = static_cast<float>(normal * weight + bias);
    }
  }
  stored_mean = static_cast<float>(mean);
  stored_variance = static_cast<float>(variance);
}

}  // namespace mega::infer
