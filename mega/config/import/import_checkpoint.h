// Models that others trained, as models of ours: reads a checkpoint of the released programs or of Hugging
// Face's, works out the options, and checks every tensor. Needs no libtorch, and executes nothing that a file
// says.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "mega/base/files/safetensors.h"
#include "mega/base/pytorch/torch_file.h"
#include "mega/config/files/signature.h"
#include "mega/config/import/fairseq_signature.h"
#include "mega/config/import/state_dict.h"
#include "mega/config/import/training_import.h"
#include "mega/config/model_options.h"

namespace mega {

struct ImportRequest {
  std::filesystem::path checkpoint;  // a file, or the folder of a model of Hugging Face's
  std::string member;                // of an archive of several models
  DataFiles files = {};              // no dictionaries: those that lie beside the checkpoint,
  bool look_beside = true;           // unless this is false
  std::string like = {};             // a recipe whose model tensors without options are; empty: none
  bool training_state = false;       // what a run needs to go on, too
};

// What a checkpoint says of its training.
struct TrainingRecord {
  std::string architecture, task;
  std::optional<int64_t> updates, epoch;
  std::string metric;          // that the best checkpoint was chosen by
  std::optional<double> best;  // its value so far
};

struct ImportedModel {
  std::string where;
  ModelOptions options;
  Signature signature;
  TrainingRecord record;
  std::vector<std::string> dictionaries;  // that were used
  std::vector<std::string> notes;
  ConvertedTensors weights;
  std::optional<ImportedTraining> training;   // if it was asked for
  std::variant<TorchFile, Safetensors> file;  // that weights refer to

  // As a model file.
  void write(const std::filesystem::path& path) const;
  // As a run that `mega train --resume` continues, in a folder that holds none yet.
  void write_run(const std::filesystem::path& folder) const;
};

ImportedModel import_checkpoint(const ImportRequest& request);

}  // namespace mega
