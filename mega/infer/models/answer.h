// What a classifier says of an example, in the terms of its task.
#pragma once

#include <span>
#include <vector>

#include "mega/config/signature.h"
#include "mega/data/encoder.h"
#include "mega/data/record.h"
#include "mega/infer/models/classifier.h"

namespace mega::infer {

// What the model says of an example (Classifier::outputs): one document, or both where it compares two.
// Error, with the example's place, where it is nothing that this model reads.
std::vector<float> outputs_of(const Classifier& model, const data::Encoder& encoder,
                              const data::Record& record, const Run& run);

// Probabilities of the classes, or the predicted numbers in the units of the training data, from a model's
// outputs.
std::vector<float> to_answer(std::span<const float> outputs, const Signature& signature);

// Both in one.
std::vector<float> answer(const Classifier& model, const data::Encoder& encoder, const data::Record& record,
                          const Run& run);

}  // namespace mega::infer
