#include "mega/infer/models/answer.h"

#include <algorithm>
#include <cmath>

#include "mega/base/error.h"

namespace mega::infer {
namespace {

std::vector<float> softmax(std::span<const float> logits) {
  const float most = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x - most));
  std::vector<float> probabilities;
  for (const float x : logits)
    probabilities.push_back(static_cast<float>(std::exp(static_cast<double>(x - most)) / sum));
  return probabilities;
}

}  // namespace

std::vector<float> to_answer(std::span<const float> outputs, const Signature& signature) {
  const bool classes = !signature.classes.empty();
  const size_t expected = classes ? signature.classes.size() : signature.target_mean.size();
  require(outputs.size() == expected && expected > 0, "the model has ", outputs.size(),
          " outputs, its signature has ", expected);
  if (classes) return softmax(outputs);
  std::vector<float> numbers(outputs.begin(), outputs.end());
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = numbers[i] * signature.target_deviation[i] + signature.target_mean[i];
  return numbers;
}

std::vector<float> outputs_of(const Classifier& model, const data::Encoder& encoder,
                              const data::Record& record, const Run& run) {
  std::vector<data::Sequence> sequences;
  std::vector<SequenceView> views;
  for (int document = 0; document < model.documents(); ++document)
    sequences.push_back(encoder.encode(record, document));
  for (const data::Sequence& sequence : sequences)
    views.push_back({sequence.tokens, sequence.values, sequence.length});
  try {
    return model.outputs(views, run);
  } catch (const Error& error) {
    fail(record.where, ": ", error.what());
  }
}

std::vector<float> answer(const Classifier& model, const data::Encoder& encoder, const data::Record& record,
                          const Run& run) {
  return to_answer(outputs_of(model, encoder, record, run), model.signature());
}

}  // namespace mega::infer
