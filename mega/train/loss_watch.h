// Watches the loss of a run for spikes.
#pragma once

#include <cstdint>
#include <optional>

namespace mega::train {

// A running mean and deviation; a loss far above them is a spike.
class LossWatch {
 public:
  // The z-score of a spike, else nothing. The first updates, and spikes themselves, are not judged by.
  std::optional<double> add(double loss);

 private:
  static constexpr double kMemory = 0.98, kSpike = 6.0;
  static constexpr int64_t kWarmUp = 50;
  double mean_ = 0.0, variance_ = 0.0;
  int64_t count_ = 0;
};

}  // namespace mega::train
