// A trained model in memory, and its way in and out of a model file.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "mega/config/model_file.h"
#include "mega/config/signature.h"
#include "mega/models/sequence_model.h"
#include "mega/ops/tensor_file.h"

namespace mega::train {

struct SavedModel {
  ModelOptions options;
  Signature signature;
  std::shared_ptr<models::SequenceModel> model;
};

// A model file that `mega train` wrote. What does not belong together, or is smaller than its options say, is
// an Error.
SavedModel load_model(const std::filesystem::path& path);

// Throws where a model of these options cannot read such input.
void require_fitting(const SequenceOptions& options, const InputOptions& input);

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
