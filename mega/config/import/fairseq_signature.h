// What an imported model reads and what its outputs are called. A checkpoint does not say it all:
// dictionaries and BPE codes are files of the data that it was trained on.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "mega/config/files/signature.h"
#include "mega/config/import/saved_arguments.h"
#include "mega/config/model_options.h"

namespace mega {

struct DataFiles {
  std::vector<std::filesystem::path> dictionaries;  // dict.txt of tokens, of labels, of two languages
  std::filesystem::path codes;                      // of BPE; empty: none
  std::filesystem::path classes = {};               // names of classes, one per line; empty: none
  std::filesystem::path statistics = {};  // a model of ours that knows those of the samples; empty: none
};

// The dictionaries that lie beside a checkpoint under the names that fairseq gives them.
std::vector<std::filesystem::path> dictionaries_beside(const std::filesystem::path& checkpoint,
                                                       const SavedArguments& arguments);

struct ImportedSignature {
  Signature signature;
  std::vector<std::string> notes;  // what is not known, and what stands in for it
};

// Error where a dictionary is not one of this model. Without one, tokens are read and written as their
// numbers, and classes are called by theirs.
ImportedSignature fairseq_signature(const SavedArguments& arguments, const ModelOptions& options,
                                    const DataFiles& files);

}  // namespace mega
