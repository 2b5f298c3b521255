// A trained classifier of sequences, or matcher of pairs, used in place from its memory-mapped file.
// Immutable and thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mega/config/files/model_file.h"
#include "mega/config/files/signature.h"
#include "mega/data/encoder.h"
#include "mega/infer/layers/input_embedding.h"
#include "mega/infer/layers/linear.h"
#include "mega/infer/layers/stack.h"
#include "mega/infer/thread_pool.h"

namespace mega::infer {

class Classifier {
 public:
  // Opens a file of `mega train` or `mega quantize`. Error if it contains another kind of model or is
  // incomplete.
  static std::shared_ptr<const Classifier> open(const std::filesystem::path& path);

  // The file may lack a signature if only outputs are needed. `where` is used in error messages.
  Classifier(ModelFile file, const std::string& where);

  const EncoderClassifierOptions& options() const { return options_; }
  const Signature& signature() const { return signature_; }
  // From an example to what the model reads; Error where the file has no signature.
  const data::Encoder& encoder() const;
  int64_t documents() const { return documents_; }  // 1, or 2 of a matcher

  // Outputs for one sequence or a pair: logits of the classes, or the predicted numbers, standardised.
  std::vector<float> outputs(std::span<const SequenceView> documents, const Run& run) const;

  // The steps of outputs(), for streaming.
  State initial_state(kernels::WeightType cache) const { return stack_->initial_state(cache); }
  // The positions of a segment; features (length, D) stay in `run`'s workspace until its next use.
  kernels::Rows read(const SequenceView& positions, const Segment& segment, const Run& run) const;
  // Outputs from the pooled representations of the documents, (documents, D).
  std::vector<float> classify(std::span<const float> representation, const Run& run) const;

 private:
  ModelFile file_;
  EncoderClassifierOptions options_;
  int64_t documents_ = 1;
  Signature signature_;
  std::optional<data::Encoder> encoder_;
  WeightFile weights_;
  std::optional<InputEmbedding> embedding_;
  std::optional<Stack> stack_;
  Linear hidden_, output_;
};

}  // namespace mega::infer
