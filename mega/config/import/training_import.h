// The state of a training that another program began: what its optimiser remembers, and how it went on. With
// the model it is a run of ours, which `mega train --resume` continues.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "mega/base/pytorch/pickle_value.h"
#include "mega/config/import/saved_arguments.h"
#include "mega/config/import/state_dict.h"
#include "mega/config/model_options.h"
#include "mega/config/recipe/train_options.h"

namespace mega {

struct ImportedTraining {
  TrainOptions options;
  int64_t update = 0;        // those that were made
  int64_t epoch = 0;         // the next one, from 0; its order of examples is another than that program's
  int64_t adam_updates = 0;  // those that Adam's moments have seen
  ConvertedTensors moments;  // mean.NAME and square.NAME of every parameter
};

// Of a checkpoint of the released program. Error where it has none, or one that float32 weights do not fit.
ImportedTraining fairseq_training(const PickleValue& root, const SavedArguments& arguments,
                                  const ModelOptions& options, const std::string& where);

// The same of the released program for images.
ImportedTraining image_release_training(const PickleValue& root, const SavedArguments& arguments,
                                        const ModelOptions& options, const std::string& where);

}  // namespace mega
