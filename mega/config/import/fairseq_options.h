// From the arguments that the released training program (a fork of fairseq) saved with a model to the options
// of ours. What the arguments leave out, programs of an earlier date did not have: sizes then follow from the
// tensors, the rest from the defaults of the architecture.
#pragma once

#include "mega/config/import/saved_arguments.h"
#include "mega/config/import/state_dict.h"
#include "mega/config/model_options.h"

namespace mega {

// Error where it is no model of the Mega family, or has something that ours do not.
ModelOptions fairseq_options(const SavedArguments& arguments, const StateDict& state);

}  // namespace mega
