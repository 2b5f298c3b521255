// A trained language model, read where its file is mapped. Immutable: any number of sessions, on any number
// of threads, share one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "mega/config/model_file.h"
#include "mega/config/signature.h"
#include "mega/infer/layers/stack.h"
#include "mega/infer/layers/token_embedding.h"
#include "mega/infer/layers/token_output.h"
#include "mega/text/tokenizer.h"

namespace mega::infer {

class LanguageModel {
 public:
  // A file of `mega train` or `mega quantize`. Error where it holds another kind of model, or not all of one.
  static std::shared_ptr<const LanguageModel> open(const std::filesystem::path& path);

  // A file without a signature is enough where nobody asks for the tokenizer. `where` names it in messages.
  LanguageModel(ModelFile file, const std::string& where);

  const LanguageModelOptions& options() const { return options_; }
  const Signature& signature() const { return signature_; }
  const Tokenizer& tokenizer() const;  // Error where the file has no vocabulary

  // Of options and weights: tells whether a state is this model's. The first call reads the whole file.
  uint64_t fingerprint() const;

  State initial_state(kernels::WeightType cache) const { return stack_->initial_state(cache); }

  // Error where a text of so many tokens goes beyond the positions that the model knows.
  void check_length(int64_t length) const { stack_->check_length(length); }
  // Error where the vocabulary does not have one of them.
  void check_tokens(std::span<const int32_t> tokens) const;

  // Reads the tokens of all segments, which stand one after the other and have been checked; features
  // (tokens, D) stay in `run`'s workspace until its next use.
  kernels::Rows read(std::span<const int32_t> tokens, std::span<const Segment> segments,
                     const Run& run) const;

  const TokenOutput& output() const { return *output_; }

 private:
  ModelFile file_;
  LanguageModelOptions options_;
  Signature signature_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  WeightFile weights_;
  std::optional<TokenEmbedding> embedding_;
  std::optional<Stack> stack_;
  std::optional<TokenOutput> output_;
  mutable std::once_flag fingerprint_once_;
  mutable uint64_t fingerprint_ = 0;
};

}  // namespace mega::infer
