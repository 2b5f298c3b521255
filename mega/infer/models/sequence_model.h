// A trained model that maps whole sequences, or pictures, to one prediction each: what its file says of it,
// and what can be asked of it whatever its kind. Immutable and thread-safe; weights are used in place from
// the memory-mapped file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mega/config/files/model_file.h"
#include "mega/config/files/signature.h"
#include "mega/data/encoder.h"
#include "mega/infer/layers/input_embedding.h"
#include "mega/infer/weight_file.h"
#include "mega/infer/workspace.h"

namespace mega::infer {

class SequenceModel {
 public:
  virtual ~SequenceModel() = default;
  SequenceModel(const SequenceModel&) = delete;
  SequenceModel& operator=(const SequenceModel&) = delete;

  const PredictorOptions& options() const { return *predictor_options(file_.options); }
  const Signature& signature() const { return signature_; }
  // From an example to what the model reads; Error where the file has no signature.
  const data::Encoder& encoder() const;
  int64_t documents() const { return options().document_count(); }  // 1, or 2 of a matcher

  // Outputs for one sequence or a pair: logits of the classes, or the predicted numbers, standardised.
  virtual std::vector<float> outputs(std::span<const SequenceView> documents, const Run& run) const = 0;

 protected:
  // The file may lack a signature if only outputs are needed. `where` is used in error messages.
  SequenceModel(ModelFile file, const std::string& where);

  void check_documents(std::span<const SequenceView> documents) const;

  ModelFile file_;
  Signature signature_;
  std::optional<data::Encoder> encoder_;
  WeightFile weights_;
};

}  // namespace mega::infer
