// Builds any model, Mega or baseline, from its options.
#pragma once

#include <memory>

#include "mega/config/model_options.h"
#include "mega/models/sequence_model.h"
#include "mega/models/token_model.h"
#include "mega/models/translation_model.h"

namespace mega::baselines {

std::shared_ptr<torch::nn::Module> make_model(const ModelOptions& options);

// Throws for kinds without sequence_options (mega/config/model_options.h).
std::shared_ptr<models::SequenceModel> make_sequence_model(const ModelOptions& options);

// Throws for kinds without token_options.
std::shared_ptr<models::TokenModel> make_token_model(const ModelOptions& options);

// Throws for kinds without translation_options.
std::shared_ptr<models::TranslationModel> make_translation_model(const ModelOptions& options);

}  // namespace mega::baselines
