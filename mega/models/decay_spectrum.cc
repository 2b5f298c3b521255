#include "mega/models/decay_spectrum.h"

#include <span>
#include <string_view>

#include "mega/config/files/decay_spectrum.h"

namespace mega::models {
namespace {

std::vector<float> floats(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().to(torch::kCPU, torch::kFloat32).flatten().contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

}  // namespace

std::vector<std::vector<double>> decay_spectrum(const torch::nn::Module& model) {
  std::vector<std::vector<double>> layers;
  const auto parameters = model.named_parameters();
  for (const auto& item : parameters) {
    constexpr std::string_view kEnd = ".move.delta";
    if (!item.key().ends_with(kEnd)) continue;
    const std::string prefix = item.key().substr(0, item.key().size() - std::string_view("delta").size());
    const torch::Tensor* alpha = parameters.find(prefix + "alpha");
    layers.push_back(
        half_lives(floats(item.value()), alpha != nullptr ? floats(*alpha) : std::vector<float>()));
  }
  return layers;
}

}  // namespace mega::models
