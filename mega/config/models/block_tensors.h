// The tensors of Mega's layers, in the order in which the modules of mega/nn hold them.
#pragma once

#include <string>

#include "mega/config/models/layer_options.h"
#include "mega/config/tensor_info.h"

namespace mega {

// Of a SequenceNorm.
void add_norm_tensors(TensorList& list, const std::string& name, int64_t width, NormKind norm, bool affine);

// Of the blocks NAME.layers.0, ... (or as options.blocks calls them), and of NAME.embed_norm and
// NAME.final_norm around them. Without a name they are the model's own.
void add_stack_tensors(TensorList& list, const std::string& name, const StackOptions& options);

}  // namespace mega
