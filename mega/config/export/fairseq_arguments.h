// The options that the released training program would have been called with to make a model of ours.
#pragma once

#include <nlohmann/json.hpp>

#include "mega/config/files/signature.h"
#include "mega/config/model_options.h"

namespace mega {

// Every field that its checkpoints have, of the model as it is, of the rest by default. Error where the
// program has nothing of the kind.
nlohmann::ordered_json fairseq_arguments(const ModelOptions& options, const Signature& signature);

}  // namespace mega
