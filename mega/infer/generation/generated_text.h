// A text being generated token by token.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mega/infer/generation/generate.h"
#include "mega/infer/generation/sampler.h"
#include "mega/infer/generation/text_output.h"
#include "mega/text/tokenizer.h"

namespace mega::infer {

// Prompt tokens per piece: enough for full speed, few enough to be interruptible.
inline constexpr size_t kPromptPiece = 1024;

class GeneratedText {
 public:
  // Continues after the prompt; `begins_line`: the text starts at the beginning of a line. Error if an option
  // is out of range or a token is not in the vocabulary.
  GeneratedText(const Tokenizer& tokenizer, std::span<const int32_t> prompt, const GenerateOptions& options,
                bool begins_line);

  // A stop string was generated, or max_tokens is reached.
  bool ended() const;

  // Samples the next token from the logits; the model must read it before the next draw.
  int32_t draw(std::span<const float> logits);

  // Text that became printable with the last token; often empty.
  const std::string& piece() const { return piece_; }

  // Text held back when generation ended without a stop string; "" otherwise. Call once.
  std::string finish();

  int64_t tokens() const { return std::ssize(history_) - static_cast<int64_t>(prompt_tokens_); }  // sampled

  // `interrupted`: stopped by the caller, who also fills in the seconds.
  GenerateResult result(bool interrupted) const;

 private:
  const Tokenizer& tokenizer_;
  int64_t max_tokens_;
  Sampler sampler_;
  TextOutput output_;
  std::vector<int32_t> history_;  // the prompt and the sampled tokens
  size_t prompt_tokens_;
  std::string piece_, text_;
  double log_probabilities_ = 0.0;
};

}  // namespace mega::infer
