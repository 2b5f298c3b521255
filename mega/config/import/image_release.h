// Checkpoints of the released program for images, a fork of DeiT's. Their arguments name the model and say
// nothing of its sizes, which follow from the tensors.
#pragma once

#include "mega/config/import/fairseq_signature.h"
#include "mega/config/import/saved_arguments.h"
#include "mega/config/import/state_dict.h"
#include "mega/config/model_options.h"

namespace mega {

// Error where it is no model of that program.
ModelOptions image_release_options(const SavedArguments& arguments, const StateDict& state);

// How that program reads pictures. The names of ImageNet's classes are those of its folders, which no
// checkpoint has: without `files.classes` they are called by their numbers.
ImportedSignature image_release_signature(const ImageOptions& options, const DataFiles& files);

}  // namespace mega
