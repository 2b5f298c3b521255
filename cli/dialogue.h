// A text that user and model write in turns.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/screen.h"
#include "mega/infer/generation/generate.h"
#include "mega/infer/generation/predictor.h"
#include "mega/text/tokenizer.h"

namespace mega::cli {

class Dialogue {
 public:
  Dialogue(infer::Predictor& predictor, const Tokenizer& tokenizer, const infer::GenerateOptions& options)
      : predictor_(predictor),
        tokenizer_(tokenizer),
        options_(options),
        begins_line_(predictor.position() == 0) {}

  // Goes on after the text, which follows what was written before; on the screen, if there is one.
  infer::GenerateResult answer(std::string_view text, Screen* screen);

  size_t prompt_tokens() const { return prompt_tokens_; }  // of the last answer
  void print_speed(const infer::GenerateResult& result) const;

  // Answers the prompt, if there is one, and then each line of standard input, until it ends. A line begins a
  // line of the text, in which the model goes on; an empty one lets it go on where it is. Ctrl-C ends an
  // answer, or drops what was typed.
  void talk(Screen& screen, const std::string& prompt);

 private:
  infer::Predictor& predictor_;
  const Tokenizer& tokenizer_;
  infer::GenerateOptions options_;
  bool begins_line_;
  size_t prompt_tokens_ = 0;
};

}  // namespace mega::cli
