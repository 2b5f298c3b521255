// A language model as the engine opens it, with random weights: what they are does not matter to the time.
#pragma once

#include <filesystem>

#include "mega/config/model_options.h"

namespace mega::bench {

void write_random_model(const std::filesystem::path& path, const ModelOptions& options);

// The options of a preset or .toml file. Error where it is no Mega language model that attends in chunks.
ModelOptions chunked_language_model(const std::string& preset);

}  // namespace mega::bench
