#include "mega/infer/models/answer.h"

#include <algorithm>
#include <cmath>

#include "mega/base/error.h"
#include "mega/infer/softmax.h"

namespace mega::infer {
namespace {

void check_finite(std::span<const float> outputs) {
  require(
      std::all_of(outputs.begin(), outputs.end(), [](float x) { return std::isfinite(x); }),
      "the model's outputs are not finite: its weights are damaged, training diverged, or the input is out "
      "of all proportion");
}

}  // namespace

std::vector<float> to_answer(std::span<const float> outputs, const Signature& signature) {
  const bool classes = !signature.classes.empty();
  const size_t expected = classes ? signature.classes.size() : signature.target_mean.size();
  require(outputs.size() == expected && expected > 0, "the model has ", outputs.size(),
          " outputs, its signature has ", expected);
  check_finite(outputs);
  if (classes) return softmax(outputs);
  std::vector<float> numbers(outputs.begin(), outputs.end());
  to_target_units(numbers, signature);
  check_finite(numbers);
  return numbers;
}

std::vector<float> outputs_of(const SequenceModel& model, const data::Encoder& encoder,
                              const data::Record& record, const Run& run) {
  std::vector<data::Sequence> sequences;
  std::vector<SequenceView> views;
  for (int document = 0; document < model.documents(); ++document)
    sequences.push_back(encoder.encode(record, document));
  for (const data::Sequence& sequence : sequences)
    views.push_back({sequence.tokens, sequence.values, sequence.length});
  return outputs_of(model, views, record.where, run);
}

std::vector<float> outputs_of(const SequenceModel& model, std::span<const SequenceView> documents,
                              const std::string& where, const Run& run) {
  try {
    std::vector<float> outputs = model.outputs(documents, run);
    check_finite(outputs);
    return outputs;
  } catch (const Error& error) {
    fail(where, ": ", error.what());
  }
}

std::vector<float> answer(const SequenceModel& model, const data::Encoder& encoder,
                          const data::Record& record, const Run& run) {
  return to_answer(outputs_of(model, encoder, record, run), model.signature());
}

}  // namespace mega::infer
