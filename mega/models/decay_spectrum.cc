#include "mega/models/decay_spectrum.h"

#include <cmath>
#include <string_view>

namespace mega::models {

using torch::Tensor;

std::vector<std::vector<double>> decay_spectrum(const torch::nn::Module& model) {
  const torch::NoGradGuard guard;
  std::vector<std::vector<double>> layers;
  const auto parameters = model.named_parameters();
  for (const auto& item : parameters) {
    constexpr std::string_view kEnd = ".move.delta";
    if (!item.key().ends_with(kEnd)) continue;
    const std::string prefix = item.key().substr(0, item.key().size() - std::string_view("delta").size());
    const Tensor* alpha = parameters.find(prefix + "alpha");
    Tensor damping = item.value().detach().cpu().to(torch::kFloat64).sigmoid();
    if (alpha != nullptr) damping = damping * alpha->detach().cpu().to(torch::kFloat64).sigmoid();
    const Tensor half_life = (std::log(0.5) / torch::log1p(-damping)).flatten().contiguous();
    layers.emplace_back(half_life.data_ptr<double>(), half_life.data_ptr<double>() + half_life.numel());
  }
  return layers;
}

}  // namespace mega::models
