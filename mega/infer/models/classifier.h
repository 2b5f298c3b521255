// A trained classifier of sequences, or matcher of pairs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mega/infer/layers/linear.h"
#include "mega/infer/layers/stack.h"
#include "mega/infer/models/sequence_model.h"

namespace mega::infer {

class Classifier : public SequenceModel {
 public:
  // Opens a file of `mega train` or `mega quantize`. Error if it contains another kind of model or is
  // incomplete.
  static std::shared_ptr<const Classifier> open(const std::filesystem::path& path);

  // The file may lack a signature if only outputs are needed. `where` is used in error messages.
  Classifier(ModelFile file, const std::string& where);

  const EncoderClassifierOptions& options() const { return options_; }

  std::vector<float> outputs(std::span<const SequenceView> documents, const Run& run) const override;

  // The steps of outputs(), for streaming.
  State initial_state(kernels::WeightType cache) const { return stack_->initial_state(cache); }
  // The positions of a segment; features (length, D) stay in `run`'s workspace until its next use.
  kernels::Rows read(const SequenceView& positions, const Segment& segment, const Run& run) const;
  // Outputs from the pooled representations of the documents, (documents, D).
  std::vector<float> classify(std::span<const float> representation, const Run& run) const;

 private:
  EncoderClassifierOptions options_;
  std::optional<InputEmbedding> embedding_;
  std::optional<Stack> stack_;
  Linear hidden_, output_;
};

}  // namespace mega::infer
