// A language model, or one of whole sequences or pictures, with random weights, opened by the engine; the
// weights do not affect the timing.
#pragma once

#include <filesystem>

#include "mega/config/files/signature.h"
#include "mega/config/model_options.h"

namespace mega::bench {

void write_random_model(const std::filesystem::path& path, const ModelOptions& options,
                        const Signature* signature = nullptr);

// The options of a preset or .toml file; an Error unless it is a Mega language model with chunked attention.
ModelOptions chunked_language_model(const std::string& preset);

}  // namespace mega::bench
