// Quantised model files: smaller, and faster where reading weights is the bottleneck.
//
// Matrices of linear layers and embeddings become I8 with one scale per row, max |w| / 127, or BF16. Biases,
// norms, EMAs and position biases are small and stay unchanged, as do the options and the signature.
#pragma once

#include <filesystem>

#include "mega/kernels/dot.h"

namespace mega::infer {

// Metadata key of quantised files; its value is quantized_name.
inline constexpr const char* kQuantized = "quantized";

// "int8" or "bf16". Error for f32.
const char* quantized_name(kernels::WeightType type);

// Writes `to` atomically. Error if `from` is not a model file, is already quantised, or has weights that are
// not finite.
void quantize(const std::filesystem::path& from, const std::filesystem::path& to, kernels::WeightType type);

}  // namespace mega::infer
