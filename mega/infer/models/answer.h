// Predictions of a classifier for an example.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mega/config/files/signature.h"
#include "mega/data/encoder.h"
#include "mega/data/record.h"
#include "mega/infer/models/sequence_model.h"

namespace mega::infer {

// The model's outputs for an example (SequenceModel::outputs): one document, or both for a matcher. Error,
// with the example's location, if the model cannot read it or an output is not finite.
std::vector<float> outputs_of(const SequenceModel& model, const data::Encoder& encoder,
                              const data::Record& record, const Run& run);
// The same of documents that are encoded already; `where` is the example's location.
std::vector<float> outputs_of(const SequenceModel& model, std::span<const SequenceView> documents,
                              const std::string& where, const Run& run);

// Probabilities of the classes, or the predicted numbers in the units of the training data, from a model's
// outputs. Error where one is not finite: NaN would look like an answer.
std::vector<float> to_answer(std::span<const float> outputs, const Signature& signature);

// to_answer(outputs_of(...)).
std::vector<float> answer(const SequenceModel& model, const data::Encoder& encoder,
                          const data::Record& record, const Run& run);

}  // namespace mega::infer
