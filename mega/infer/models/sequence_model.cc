#include "mega/infer/models/sequence_model.h"

#include <utility>

#include "mega/base/error.h"

namespace mega::infer {

SequenceModel::SequenceModel(ModelFile file, const std::string& where)
    : file_(std::move(file)), weights_(file_.tensors, where) {
  const PredictorOptions* options = predictor_options(file_.options);
  require(options != nullptr && options->runs_in_engine(), where,
          " is not a Mega classifier but a model of kind ", file_.options.kind_name());
  const auto checked = [&](const auto& check) {
    try {
      return check();
    } catch (const Error& error) {
      fail(where, ": ", error.what());
    }
  };
  checked([&] { check_surplus(file_.options, file_.tensors); });
  if (!has_signature(file_.tensors)) return;
  signature_ = read_signature(file_.tensors, where);
  checked([&] {
    auto tokenizer = check_signature(signature_, *options);
    encoder_.emplace(signature_, cls_token(file_.options), std::move(tokenizer));
  });
}

const data::Encoder& SequenceModel::encoder() const {
  require(encoder_.has_value(),
          "the model file has no description of its input encoding: it was not written by `mega train`");
  return *encoder_;
}

void SequenceModel::check_documents(std::span<const SequenceView> documents) const {
  require(std::ssize(documents) == this->documents(), "this model reads ",
          this->documents() == 1 ? "one document" : "two documents", ", not ", documents.size());
}

}  // namespace mega::infer
