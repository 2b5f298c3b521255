// Interactive generation: the user and the model take turns extending one text.
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

  // Appends `text` to everything read so far and generates a continuation; prints it if `screen` is not null.
  infer::GenerateResult answer(std::string_view text, Screen* screen);

  size_t prompt_tokens() const { return prompt_tokens_; }  // of the last answer
  void print_speed(const infer::GenerateResult& result) const;

  // Answers the prompt, if not empty, then each line of standard input until end of file. Input starts on a
  // new line of the text and the model continues that line; an empty line continues the current one. Ctrl-C
  // stops an answer, or discards what was typed.
  void talk(Screen& screen, const std::string& prompt);

 private:
  infer::Predictor& predictor_;
  const Tokenizer& tokenizer_;
  infer::GenerateOptions options_;
  bool begins_line_;
  size_t prompt_tokens_ = 0;
};

}  // namespace mega::cli
