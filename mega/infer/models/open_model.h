// Opens a model that says one thing about each example, of whatever kind.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "mega/infer/models/sequence_model.h"

namespace mega::infer {

// A file of `mega train`, `import` or `quantize`. Error if the engine does not run it, or it is incomplete.
std::shared_ptr<const SequenceModel> open_model(const std::filesystem::path& path);
std::shared_ptr<const SequenceModel> open_model(ModelFile file, const std::string& where);

}  // namespace mega::infer
