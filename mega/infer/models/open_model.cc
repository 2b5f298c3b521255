#include "mega/infer/models/open_model.h"

#include <utility>

#include "mega/infer/models/classifier.h"
#include "mega/infer/models/image_classifier.h"

namespace mega::infer {

std::shared_ptr<const SequenceModel> open_model(const std::filesystem::path& path) {
  return open_model(ModelFile::open(path), path.string());
}

std::shared_ptr<const SequenceModel> open_model(ModelFile file, const std::string& where,
                                                std::optional<PictureSize> size) {
  if (image_options(file.options) != nullptr)
    return std::make_shared<const ImageClassifier>(std::move(file), where, size);
  return std::make_shared<const Classifier>(std::move(file), where);
}

}  // namespace mega::infer
