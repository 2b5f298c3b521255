// A text while a model writes it, token by token.
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

// Tokens of a prompt that are read at once: enough for full speed, few enough to be interrupted.
inline constexpr size_t kPromptPiece = 1024;

class GeneratedText {
 public:
  // Goes on after the prompt; `begins_line`: what is written first stands at the beginning of a line. Error
  // where an option is out of range or the tokenizer does not know a token.
  GeneratedText(const Tokenizer& tokenizer, std::span<const int32_t> prompt, const GenerateOptions& options,
                bool begins_line);

  // A stop string came, or the tokens are as many as they may be.
  bool ended() const;

  // The next token, from what the model expects; the model has to read it before the next draw.
  int32_t draw(std::span<const float> logits);

  // What may be printed since the token before the last; often nothing.
  const std::string& piece() const { return piece_; }

  // What was held back, where the text just ended and no stop string came; "" otherwise. Once.
  std::string finish();

  // `interrupted`: somebody wanted no more. Seconds are the caller's to fill in.
  GenerateResult result(bool interrupted) const;

 private:
  const Tokenizer& tokenizer_;
  int64_t max_tokens_;
  Sampler sampler_;
  TextOutput output_;
  std::vector<int32_t> history_;  // the prompt, and what was drawn
  size_t prompt_tokens_;
  std::string piece_, text_;
  double log_probabilities_ = 0.0;
};

}  // namespace mega::infer
