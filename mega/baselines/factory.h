// Any model from its options, Mega's or the one it is compared with, and what it costs.
#pragma once

#include <cstdint>
#include <memory>

#include "mega/config/model_options.h"
#include "mega/models/sequence_model.h"
#include "mega/models/token_model.h"

namespace mega::baselines {

// Throws for kinds that have no sequence_options (mega/config/model_options.h).
std::shared_ptr<models::SequenceModel> make_sequence_model(const ModelOptions& options);

// Throws for kinds that have no token_options.
std::shared_ptr<models::TokenModel> make_token_model(const ModelOptions& options);

std::shared_ptr<torch::nn::Module> make_any_model(const ModelOptions& options);

// Documents that a model of whole sequences reads at a time.
int64_t documents(const ModelOptions& options);

// Multiply-adds per token of the whole model, forward. The backward pass counts twice.
double multiply_adds(const ModelOptions& options, int64_t length);

// Bytes that one training step of the fused form needs at its peak beyond parameters, gradients and
// optimiser, for a batch of documents, or of pairs if the model compares two.
double activation_bytes(const ModelOptions& options, int64_t length, int64_t batch);

}  // namespace mega::baselines
