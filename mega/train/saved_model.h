// A trained model in memory, and its way in and out of a model file.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "mega/config/model_file.h"
#include "mega/config/signature.h"
#include "mega/models/sequence_model.h"
#include "mega/models/token_model.h"
#include "mega/ops/tensor_file.h"
#include "mega/text/tokenizer.h"

namespace mega::train {

struct SavedModel {
  ModelOptions options;
  Signature signature;
  std::shared_ptr<models::SequenceModel> model;
};

// A model file that `mega train` wrote. What does not belong together, or is smaller than its options say, is
// an Error.
SavedModel load_model(const std::filesystem::path& path);

// The same of a language model, with its tokenizer.
struct SavedLanguageModel {
  ModelOptions options;
  Signature signature;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<models::TokenModel> model;
};

// `chunk`: attend in chunks of this many tokens instead of those of training; 0: those. Needs positions that
// any length has, such as rotary ones.
SavedLanguageModel load_language_model(const std::filesystem::path& path, int64_t chunk = 0);

void save_model(const std::filesystem::path& path, const ModelOptions& options, const Signature& signature,
                const ops::NamedTensors& weights, const Metadata& extra = {});

// Parameters and buffers by their released names.
ops::NamedTensors weights_of(const torch::nn::Module& model);

// Copies weights of the same name and shape. Error if one of the model's is missing.
void load_weights(torch::nn::Module& model, const Safetensors& file);
// The same for fine-tuning: gives the names of the model's weights that the file does not have in this shape,
// which keep their values.
std::vector<std::string> load_matching_weights(torch::nn::Module& model, const Safetensors& file);

}  // namespace mega::train
