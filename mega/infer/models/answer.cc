#include "mega/infer/models/answer.h"

#include "mega/base/error.h"
#include "mega/infer/softmax.h"

namespace mega::infer {

std::vector<float> to_answer(std::span<const float> outputs, const Signature& signature) {
  const bool classes = !signature.classes.empty();
  const size_t expected = classes ? signature.classes.size() : signature.target_mean.size();
  require(outputs.size() == expected && expected > 0, "the model has ", outputs.size(),
          " outputs, its signature has ", expected);
  if (classes) return softmax(outputs);
  std::vector<float> numbers(outputs.begin(), outputs.end());
  to_target_units(numbers, signature);
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
