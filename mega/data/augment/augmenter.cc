#include "mega/data/augment/augmenter.h"

#include <algorithm>
#include <cmath>

#include "mega/base/random.h"
#include "mega/data/augment/draws.h"

namespace mega::data {
namespace {

// The deviation of each channel over a clip.
std::vector<double> deviations(const std::vector<float>& values, size_t channels) {
  std::vector<double> means(channels), squares(channels);
  const double count = static_cast<double>(values.size() / channels);
  for (size_t i = 0; i < values.size(); ++i) means[i % channels] += static_cast<double>(values[i]) / count;
  for (size_t i = 0; i < values.size(); ++i)
    squares[i % channels] += std::pow(static_cast<double>(values[i]) - means[i % channels], 2) / count;
  for (double& square : squares) square = std::sqrt(square);
  return squares;
}

}  // namespace

std::string Augmenter::drop_bytes(std::string_view text) const {
  std::string kept;
  if (options_.byte_dropout <= 0 || text.empty()) return kept = text;
  Random draws(stream_seed(seed_, "byte dropout"));
  kept.reserve(text.size());
  for (const char byte : text)
    if (draws.unit() >= options_.byte_dropout) kept += byte;
  if (kept.empty()) kept = text[static_cast<size_t>(draws.below(std::ssize(text)))];
  return kept;
}

int64_t Augmenter::crop_begin(int64_t length, int64_t most) const {
  if (!options_.crop || length <= most) return 0;
  return Random(stream_seed(seed_, "crop")).between(0, length - most);
}

void Augmenter::crop(std::vector<int32_t>& tokens, int64_t most) const {
  if (most <= 0 || std::ssize(tokens) <= most) return;
  const int64_t begin = crop_begin(std::ssize(tokens) - 1, most - 1);
  tokens[static_cast<size_t>(begin + most - 1)] = tokens.back();
  tokens.erase(tokens.begin() + begin + most, tokens.end());
  tokens.erase(tokens.begin(), tokens.begin() + begin);
}

void Augmenter::change(std::vector<float>& values, int64_t channels,
                       const std::function<float(size_t)>& silence) const {
  if (values.empty()) return;
  const auto width = static_cast<size_t>(channels);
  const std::vector<double> own = options_.noise > 0 ? deviations(values, width) : std::vector<double>();
  if (options_.shift > 0) shift(values, channels, silence);
  if (options_.noise <= 0) return;
  Random draws(stream_seed(seed_, "noise"));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] += static_cast<float>(options_.noise * own[i % width] * draw_normal(draws));
}

void Augmenter::shift(std::vector<float>& values, int64_t channels,
                      const std::function<float(size_t)>& silence) const {
  const int64_t length = std::ssize(values) / channels;
  const auto most = static_cast<int64_t>(options_.shift * static_cast<double>(length));
  const int64_t by = Random(stream_seed(seed_, "shift")).between(-most, most) * channels;
  const std::vector<float> before = values;
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    const int64_t from = i - by;
    const bool inside = from >= 0 && from < std::ssize(values);
    values[static_cast<size_t>(i)] =
        inside ? before[static_cast<size_t>(from)] : silence(static_cast<size_t>(i));
  }
}

}  // namespace mega::data
