#include "mega/infer/softmax.h"

#include <algorithm>
#include <cmath>

namespace mega::infer {
namespace {

template <class Number>
ExpSum sum_of(std::span<const float> x) {
  const float max = *std::max_element(x.begin(), x.end());
  double sum = 0.0;
  for (const float each : x) sum += static_cast<double>(std::exp(static_cast<Number>(each - max)));
  return {max, sum};
}

}  // namespace

double ExpSum::log() const {
  return std::isfinite(max) ? static_cast<double>(max) + std::log(sum) : static_cast<double>(max);
}

ExpSum exp_sum(std::span<const float> x) { return sum_of<float>(x); }
ExpSum exact_exp_sum(std::span<const float> x) { return sum_of<double>(x); }

std::vector<float> softmax(std::span<const float> logits) {
  const ExpSum all = exact_exp_sum(logits);
  std::vector<float> probabilities;
  probabilities.reserve(logits.size());
  for (const float x : logits)
    probabilities.push_back(static_cast<float>(std::exp(static_cast<double>(x - all.max)) / all.sum));
  return probabilities;
}

}  // namespace mega::infer
