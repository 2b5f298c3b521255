// Detects spikes of the training loss.
#pragma once

#include <cstdint>
#include <optional>

namespace mega::train {

// Keeps a running mean and standard deviation; a loss far above is a spike.
class LossWatch {
 public:
  // The z-score if this is a spike, else nullopt. The first updates are never spikes.
  std::optional<double> add(double loss);

 private:
  static constexpr double kMemory = 0.98, kSpike = 6.0;
  static constexpr int64_t kWarmUp = 50;
  double mean_ = 0.0, variance_ = 0.0;
  int64_t count_ = 0;
};

}  // namespace mega::train
