// A trained Mega classifier of pictures, the released VisionMEGA: patches plus learned positions, blocks, and
// a layer with SiLU at every patch before their mean.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mega/config/files/picture_size.h"
#include "mega/config/models/image_options.h"
#include "mega/infer/layers/linear.h"
#include "mega/infer/layers/patch_embedding.h"
#include "mega/infer/layers/stack.h"
#include "mega/infer/models/sequence_model.h"

namespace mega::infer {

class ImageClassifier : public SequenceModel {
 public:
  // Opens a file of `mega train`, `import` or `quantize`. Error if it contains another kind of model or is
  // incomplete.
  static std::shared_ptr<const ImageClassifier> open(const std::filesystem::path& path);

  // The file may lack a signature if only outputs are needed. `where` is used in error messages. `size`: that
  // of the pictures, if it is to be another than in training; learned positions are interpolated.
  ImageClassifier(ModelFile file, const std::string& where, std::optional<PictureSize> size = {});

  const ImageClassifierOptions& options() const { return options_; }

  // One picture: its pixels row by row.
  std::vector<float> outputs(std::span<const SequenceView> documents, const Run& run) const override;

 private:
  void resize(PictureSize size);

  ImageClassifierOptions options_;
  std::optional<PatchEmbedding> patches_;
  const float* positions_ = nullptr;  // (patches, D). May be null.
  std::optional<Stack> stack_;
  Linear at_patches_, representation_, head_;  // the second has no weights where the model has no such layer
};

}  // namespace mega::infer
