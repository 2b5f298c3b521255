#include "mega/train/weight_average.h"

#include <algorithm>

#include "mega/train/saved_model.h"

namespace mega::train {

using torch::Tensor;

WeightAverage::WeightAverage(torch::nn::Module& model, double memory)
    : memory_(memory), live_(weights_of(model)) {
  if (memory_ > 0.0)
    for (const auto& [name, weight] : live_) average_.emplace_back(name, weight.detach().clone());
}

void WeightAverage::add(int64_t update) {
  const torch::NoGradGuard guard;
  const double k = static_cast<double>(update);
  const double memory = std::min(memory_, k / (k + 9.0));
  for (size_t i = 0; i < average_.size(); ++i) {
    Tensor& average = average_[i].second;
    if (average.is_floating_point()) {
      average.lerp_(live_[i].second, 1.0 - memory);
    } else {
      average.copy_(live_[i].second);
    }
  }
}

ops::NamedTensors WeightAverage::weights() const { return average_.empty() ? live_ : average_; }

void WeightAverage::swap() {
  const torch::NoGradGuard guard;
  for (size_t i = 0; i < average_.size(); ++i) {
    const Tensor kept = live_[i].second.detach().clone();
    live_[i].second.copy_(average_[i].second);
    average_[i].second.copy_(kept);
  }
}

ops::NamedTensors WeightAverage::state() const {
  ops::NamedTensors state;
  for (const auto& [name, weight] : average_) state.emplace_back("average." + name, weight);
  return state;
}

void WeightAverage::load_state(const Safetensors& file) {
  const torch::NoGradGuard guard;
  for (auto& [name, weight] : average_) weight.copy_(ops::to_tensor(file.at("average." + name)));
}

}  // namespace mega::train
