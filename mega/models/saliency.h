// Which positions of its input an answer of a model rests on.
#pragma once

#include "mega/models/sequence_model.h"
#include "mega/ops/torch.h"

namespace mega::models {

// Gradient x input: x · d score / d x, summed over the channels of each position, (B, L). To first order it
// is what the score of a class (or the number that is predicted) would lose if the position were 0, which for
// a picture is the mean colour. `labels` (B) int64: the class of each row. Inputs of real numbers only.
torch::Tensor saliency(SequenceModel& model, const Sequences& input, const torch::Tensor& labels);

}  // namespace mega::models
