// A trained language model, used in place from its memory-mapped file. Immutable and thread-safe: any number
// of sessions share one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "mega/config/files/model_file.h"
#include "mega/config/files/signature.h"
#include "mega/infer/layers/stack.h"
#include "mega/infer/layers/token_embedding.h"
#include "mega/infer/layers/token_output.h"
#include "mega/text/tokenizer.h"

namespace mega::infer {

class LanguageModel {
 public:
  // Opens a file of `mega train` or `mega quantize`. Error if it contains another kind of model or is
  // incomplete.
  static std::shared_ptr<const LanguageModel> open(const std::filesystem::path& path);

  // The file may lack a signature if the tokenizer is not needed. `where` is used in error messages.
  LanguageModel(ModelFile file, const std::string& where);

  const LanguageModelOptions& options() const { return options_; }
  const Signature& signature() const { return signature_; }
  const Tokenizer& tokenizer() const;  // Error if the file has no vocabulary

  // Hash of options and weights, to check that a state belongs to this model. The first call reads the whole
  // file.
  uint64_t fingerprint() const;

  State initial_state(kernels::WeightType cache) const { return stack_->initial_state(cache); }

  // Error if a text of this many tokens exceeds the model's max positions.
  void check_length(int64_t length) const { stack_->check_length(length); }
  // Error if a token is not in the vocabulary.
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
