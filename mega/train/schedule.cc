#include "mega/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace mega::train {

double learning_rate(const TrainOptions& options, int64_t update) {
  const int64_t step = update / options.hold * options.hold;
  const double s = static_cast<double>(step), warmup = static_cast<double>(options.warmup);
  const double total = static_cast<double>(options.updates), peak = options.learning_rate;
  const double last = options.final_learning_rate;
  if (options.warmup > 0 && step <= options.warmup) {
    const double share = std::pow(s, options.warmup_power) / std::pow(warmup, options.warmup_power);
    return options.initial_learning_rate + share * (peak - options.initial_learning_rate);
  }
  const double left = step >= options.updates ? 0.0 : (total - s) / (total - warmup);  // 1 after the warm-up
  switch (options.schedule) {
    case Schedule::linear:
      return last + left * (peak - last);
    case Schedule::cosine:
      return last + 0.5 * (1.0 - std::cos(std::numbers::pi * left)) * (peak - last);
    case Schedule::cosine_full:
      return last +
             0.5 * (1.0 + std::cos(std::numbers::pi * (s - warmup) / std::max(1.0, total))) * (peak - last);
    case Schedule::inverse_sqrt:
      return peak * std::sqrt(std::max(1.0, warmup) / std::max(1.0, s));
    case Schedule::constant:
      return peak;
  }
  return peak;
}

}  // namespace mega::train
