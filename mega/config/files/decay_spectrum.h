// How far back the moving averages of a model look.
#pragma once

#include <span>
#include <vector>

#include "mega/base/files/safetensors.h"

namespace mega {

// Half lives in positions of moving averages with these coefficients, as a model has them: an average keeps
// 1 - sigmoid(delta) sigmoid(alpha) of itself at each position. Without alpha: 1 - sigmoid(delta).
std::vector<double> half_lives(std::span<const float> delta, std::span<const float> alpha);

// Those of every moving average of a model file, layer by layer; empty for a model without any.
std::vector<std::vector<double>> decay_spectrum(const Safetensors& file);

}  // namespace mega
