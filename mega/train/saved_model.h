// Loads trained models from model files.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mega/config/files/model_file.h"
#include "mega/config/files/picture_size.h"
#include "mega/config/files/signature.h"
#include "mega/models/sequence_model.h"
#include "mega/models/token_model.h"
#include "mega/models/translation_model.h"
#include "mega/ops/tensor_file.h"
#include "mega/text/tokenizer.h"

namespace mega::train {

struct SavedModel {
  ModelOptions options;
  Signature signature;
  std::shared_ptr<models::SequenceModel> model;
};

// Loads a model file of `mega train`. Error if its parts are inconsistent or weights are missing. A model of
// pictures may be made to read another size of them than in training.
SavedModel load_model(const std::filesystem::path& path, std::optional<PictureSize> size = {});

// The same for a language model, with its tokenizer.
struct SavedLanguageModel {
  ModelOptions options;
  Signature signature;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<models::TokenModel> model;
};

// `chunk`: attention chunk size in tokens; 0: as in training. Other sizes need positions without a maximum,
// such as rotary ones.
SavedLanguageModel load_language_model(const std::filesystem::path& path, int64_t chunk = 0);

// The same for a translator, with the tokenizers of both languages.
struct SavedTranslationModel {
  ModelOptions options;
  Signature signature;
  TranslationTokenizers tokenizers;
  std::shared_ptr<models::TranslationModel> model;
};

SavedTranslationModel load_translation_model(const std::filesystem::path& path);

void save_model(const std::filesystem::path& path, const ModelOptions& options, const Signature& signature,
                const ops::NamedTensors& weights, const Metadata& extra = {});

// Parameters and buffers by their released names.
ops::NamedTensors weights_of(const torch::nn::Module& model);

// Copies weights by name and shape. Error if a weight of the model is missing.
void load_weights(torch::nn::Module& model, const Safetensors& file);
// The same for fine-tuning: returns the names of weights that are not in the file with this shape; these keep
// their values.
std::vector<std::string> load_matching_weights(torch::nn::Module& model, const Safetensors& file);
// The same from a model of these options; positions of pictures of another size are interpolated.
std::vector<std::string> load_matching_weights(torch::nn::Module& model, const ModelFile& file,
                                               const ModelOptions& options);

}  // namespace mega::train
