#include "mega/config/files/decay_spectrum.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>

#include "mega/base/error.h"

namespace mega {
namespace {

constexpr std::string_view kDelta = "delta", kAlpha = "alpha";

double sigmoid(float x) { return 1.0 / (1.0 + std::exp(-static_cast<double>(x))); }

std::vector<float> floats(const TensorView& tensor) {
  require(tensor.dtype == DType::F32, tensor.name, ": expected F32, got ", to_string(tensor.dtype));
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

}  // namespace

std::vector<double> half_lives(std::span<const float> delta, std::span<const float> alpha) {
  require(alpha.empty() || alpha.size() == delta.size(), "a moving average has ", delta.size(),
          " numbers delta, and ", alpha.size(), " alpha");
  std::vector<double> lives;
  lives.reserve(delta.size());
  for (size_t i = 0; i < delta.size(); ++i) {
    const double fades = sigmoid(delta[i]) * (alpha.empty() ? 1.0 : sigmoid(alpha[i]));
    lives.push_back(std::log(0.5) / std::log1p(-fades));
  }
  return lives;
}

std::vector<std::vector<double>> decay_spectrum(const Safetensors& file) {
  std::vector<const TensorView*> deltas;
  for (const TensorView& tensor : file.tensors())
    if (tensor.name.ends_with(".move.delta") && tensor.elements() > 0) deltas.push_back(&tensor);
  // A translator's encoder comes before its decoder. Otherwise names differ in the layer's number: by length
  // first, layer 10 comes after layer 9.
  const auto place = [](const TensorView* delta) {
    return std::make_tuple(delta->name.starts_with("decoder."), delta->name.size(), delta->name);
  };
  std::sort(deltas.begin(), deltas.end(),
            [&](const TensorView* a, const TensorView* b) { return place(a) < place(b); });
  std::vector<std::vector<double>> layers;
  for (const TensorView* delta : deltas) {
    std::string name = delta->name;
    name.replace(name.size() - kDelta.size(), kDelta.size(), kAlpha);
    const TensorView* alpha = file.find(name);
    layers.push_back(half_lives(floats(*delta), alpha != nullptr ? floats(*alpha) : std::vector<float>()));
  }
  return layers;
}

}  // namespace mega
