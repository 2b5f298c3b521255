#include "mega/train/loss_watch.h"

#include <algorithm>
#include <cmath>

namespace mega::train {

std::optional<double> LossWatch::add(double loss) {
  std::optional<double> spike;
  if (count_ >= kWarmUp) {
    const double deviation = std::max(std::sqrt(variance_), 1e-3 * std::abs(mean_) + 1e-12);
    const double z = (loss - mean_) / deviation;
    if (z > kSpike) spike = z;
  }
  ++count_;
  // A spike is clamped to the threshold, so that it does not hide the next one, while the mean still adapts
  // to a new level.
  const double bounded = spike ? mean_ + kSpike * std::sqrt(variance_) : loss;
  const double weight = std::max(1.0 - kMemory, 1.0 / static_cast<double>(count_));
  const double difference = bounded - mean_;
  mean_ += weight * difference;
  variance_ = (1.0 - weight) * (variance_ + weight * difference * difference);
  return spike;
}

}  // namespace mega::train
