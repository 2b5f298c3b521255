// Batches as tensors.
#pragma once

#include <vector>

#include "mega/data/batches.h"
#include "mega/models/sequence_model.h"

namespace mega::train {

models::Sequences to_sequences(const data::SequenceSet& set, const torch::Device& device);

// A batch's inputs.
std::vector<models::Sequences> to_sequences(const data::Batch& batch, const torch::Device& device);

}  // namespace mega::train
