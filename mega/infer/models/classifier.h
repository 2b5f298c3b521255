// A trained classifier of sequences, or matcher of two, read where its file is mapped. Immutable: any number
// of threads share one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mega/config/model_file.h"
#include "mega/config/signature.h"
#include "mega/infer/layers/input_embedding.h"
#include "mega/infer/layers/linear.h"
#include "mega/infer/layers/stack.h"
#include "mega/infer/thread_pool.h"

namespace mega::infer {

class Classifier {
 public:
  // A file of `mega train` or `mega quantize`. Error where it holds another kind of model, or not all of one.
  static std::shared_ptr<const Classifier> open(const std::filesystem::path& path);

  // A file without a signature is enough for the arithmetic. `where` names it in messages.
  Classifier(ModelFile file, const std::string& where);

  const EncoderClassifierOptions& options() const { return options_; }
  const Signature& signature() const { return signature_; }
  int64_t documents() const { return documents_; }  // 1, or 2 of a matcher

  // What the model says of one sequence, or of a pair: logits of the classes, or the numbers it predicts, as
  // they were standardised.
  std::vector<float> outputs(std::span<const SequenceView> documents, const Run& run) const;

  // Parts of it, for streams.
  State initial_state(kernels::WeightType cache) const { return stack_->initial_state(cache); }
  // The positions of a segment; features (length, D) stay in `run`'s workspace until its next use.
  kernels::Rows read(const SequenceView& positions, const Segment& segment, const Run& run) const;
  // From what stands for each document, (documents, D) one after the other, to outputs.
  std::vector<float> classify(std::span<const float> representation, const Run& run) const;

 private:
  ModelFile file_;
  EncoderClassifierOptions options_;
  int64_t documents_ = 1;
  Signature signature_;
  WeightFile weights_;
  std::optional<InputEmbedding> embedding_;
  std::optional<Stack> stack_;
  Linear hidden_, output_;
};

}  // namespace mega::infer
