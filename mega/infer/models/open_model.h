// Opens a model that says one thing about each example, of whatever kind.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "mega/config/files/picture_size.h"
#include "mega/infer/models/sequence_model.h"

namespace mega::infer {

// A file of `mega train`, `import` or `quantize`. Error if the engine does not run it, or it is incomplete.
std::shared_ptr<const SequenceModel> open_model(const std::filesystem::path& path);
// `size`: as ImageClassifier takes it.
std::shared_ptr<const SequenceModel> open_model(ModelFile file, const std::string& where,
                                                std::optional<PictureSize> size = {});

}  // namespace mega::infer
