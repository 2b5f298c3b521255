// The files of a checkpoint, from which `mega train --resume` continues:
//
//   RUN/recipe.json                                 what is trained, and how
//   RUN/checkpoints/00000500/model.safetensors      the model after 500 updates
//                            training.safetensors   optimiser, average, cursor
//
// The metadata of training.safetensors has where the run stands, as JSON, and a hash of that and of all
// tensors of both files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "mega/base/files/safetensors.h"

namespace mega {

inline constexpr const char* kRunRecipe = "recipe.json";
inline constexpr const char* kCheckpoints = "checkpoints";
inline constexpr const char* kCheckpointModel = "model.safetensors";
inline constexpr const char* kCheckpointTraining = "training.safetensors";
// Keys of the metadata.
inline constexpr const char* kTrainingState = "progression";
inline constexpr const char* kTrainingHash = "hash";

// "00000500".
std::string checkpoint_name(int64_t update);

// Of the training state and all tensors: a disk that lost some is found out.
std::string checkpoint_hash(const std::string& state, const std::vector<TensorView>& model,
                            const std::vector<TensorView>& training);

// Writes training.safetensors beside a model of these tensors.
void write_training_file(const std::filesystem::path& path, const std::string& state,
                         const std::vector<TensorView>& model, const std::vector<TensorView>& training);

}  // namespace mega
