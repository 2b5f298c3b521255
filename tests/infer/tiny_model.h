// Model files with random weights for any options that the engine supports.
#pragma once

#include <cmath>
#include <deque>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "mega/config/files/model_file.h"
#include "mega/config/files/signature.h"

namespace mega::testing {

// All tensors of a model, with numbers large enough that each affects the output.
class RandomWeights {
 public:
  RandomWeights(const ModelOptions& options, uint32_t seed) : random_(seed) {
    for (const TensorInfo& tensor : options.kind().tensors())
      if (tensor.tied_to.empty()) add(tensor);
  }

  const std::vector<TensorView>& tensors() const { return tensors_; }

 private:
  void add(const TensorInfo& tensor) {
    std::vector<float>& values = values_.emplace_back();
    if (tensor.dtype == DType::I64) {  // a count
      values.assign(2, 0.0f);
    } else {
      std::normal_distribution<float> normal(mean(tensor), deviation(tensor));
      for (int64_t i = 0; i < tensor.elements(); ++i) values.push_back(normal(random_));
    }
    tensors_.push_back({tensor.name, tensor.dtype, tensor.shape, std::as_bytes(std::span(values))});
  }

  // Factors around 1, all else around 0.
  static float mean(const TensorInfo& tensor) { return is_factor(tensor) ? 1.0f : 0.0f; }
  static float deviation(const TensorInfo& tensor) {
    if (tensor.part == ModelPart::norms && is_factor(tensor)) return 0.1f;
    if (tensor.part == ModelPart::ema && tensor.shape.size() > 1) return 1.0f;
    const bool matrix = tensor.quantizable || (tensor.shape.size() == 2 && tensor.shape[0] > 2);
    return matrix ? 1.0f / std::sqrt(static_cast<float>(tensor.shape[1])) : 0.3f;
  }
  static bool is_factor(const TensorInfo& tensor) {
    const auto ends = [&](const char* end) { return tensor.name.ends_with(end); };
    if (tensor.part == ModelPart::norms) return ends(".weight") || ends(".scalar") || ends(".running_var");
    return ends(".mega_layer.gamma");
  }

  std::mt19937 random_;
  std::deque<std::vector<float>> values_;  // a deque, because its elements do not move
  std::vector<TensorView> tensors_;
};

// Writes the signature if one is given: a language model needs it for its tokenizer.
inline void write_random_model(const std::filesystem::path& path, const ModelOptions& options,
                               uint32_t seed = 1, const Signature* signature = nullptr) {
  const RandomWeights weights(options, seed);
  std::vector<TensorView> tensors = weights.tensors();
  Metadata metadata;
  if (signature != nullptr) {
    for (const TensorView& tensor : signature_tensors(*signature)) tensors.push_back(tensor);
    metadata = signature_metadata(*signature);
  }
  write_model_file(path, options, tensors, metadata);
}

// Signature of a language model on bytes.
inline Signature byte_signature() {
  Signature signature;
  signature.input.input = LanguageInput{};
  return signature;
}

// Two small blocks with all features: a width that is not a multiple of a vector, chunks shorter than a page.
inline LanguageModelOptions tiny_language_model() {
  LanguageModelOptions options;
  options.vocabulary = 264;
  options.layers = 2;
  options.block.width = 20;
  options.block.values = 24;
  options.block.shared = 8;
  options.block.hidden = 28;
  options.block.ema.dimension = 3;
  options.block.position = PositionKind::rotary;
  options.block.chunk = 13;
  return options;
}

// A translator of the same blocks: bidirectional in the encoder, causal in the decoder.
inline TranslatorOptions tiny_translator() {
  TranslatorOptions options;
  options.vocabulary = 37;
  options.encoder_layers = 2;
  options.decoder_layers = 2;
  options.block = tiny_language_model().block;
  options.block.causal = false;
  options.block.ema.bidirectional = true;
  return options;
}

inline ClassifierOptions tiny_classifier() {
  ClassifierOptions options;
  options.layers = 2;
  options.classes = 3;
  options.head = 16;
  options.block = tiny_language_model().block;
  options.block.causal = false;
  options.block.ema.bidirectional = true;
  return options;
}

// Of pictures that are not square and do not divide into patches.
inline ImageClassifierOptions tiny_image_classifier() {
  ImageClassifierOptions options;
  options.image = 9;
  options.image_width = 14;
  options.patch = 4;
  options.classes = 3;
  options.layers = 2;
  options.block.width = 20;
  options.block.values = 24;
  options.block.shared = 8;
  options.block.hidden = 28;
  options.block.ema.dimension = 3;
  return options;
}

// What reads such pictures, in colours.
inline Signature picture_signature(const ImageClassifierOptions& options) {
  ImageInput input;
  input.height = options.rows();
  input.width = options.columns();
  input.channels = options.channels;
  Signature signature;
  signature.input.input = input;
  for (int64_t i = 0; i < options.classes; ++i) signature.classes.push_back("class " + std::to_string(i));
  return signature;
}

}  // namespace mega::testing
