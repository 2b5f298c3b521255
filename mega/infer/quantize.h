// Model files with weights of lower precision: smaller, and faster where reading weights is what takes the
// time.
//
// Matrices of linear layers and embeddings become I8 with one scale per row, max |w| / 127, or BF16. Biases,
// norms, moving averages and position biases are few, and stay as they are, as does everything that says what
// the model is.
#pragma once

#include <filesystem>

#include "mega/kernels/dot.h"

namespace mega::infer {

// Metadata key of such files; its value is quantized_name.
inline constexpr const char* kQuantized = "quantized";

// "int8" or "bf16". Error for f32.
const char* quantized_name(kernels::WeightType type);

// Writes `to`, whole or not at all. Error where `from` is no model file, is quantised already, or has weights
// that are no numbers.
void quantize(const std::filesystem::path& from, const std::filesystem::path& to, kernels::WeightType type);

}  // namespace mega::infer
