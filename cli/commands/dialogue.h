// Interactive generation: the user and the model take turns extending one text.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "cli/any_model.h"
#include "cli/terminal/screen.h"
#include "mega/infer/generation/generate.h"
#include "mega/infer/generation/predictor.h"

namespace mega::cli {

class Dialogue {
 public:
  // The model must outlive the dialogue.
  Dialogue(const AnyLanguageModel& model, const infer::GenerateOptions& options);

  // Appends `text` to everything read so far and generates a continuation; prints it if `screen` is not null.
  infer::GenerateResult answer(std::string_view text, Screen* screen);

  size_t prompt_tokens() const { return prompt_tokens_; }  // of the last answer
  void print_speed(const infer::GenerateResult& result) const;

  // Answers the prompt, if not empty, then each line of standard input until end of file. Input starts on a
  // new line of the text and the model continues that line; an empty line continues the current one. Ctrl-C
  // stops an answer, or discards what was typed.
  //
  // At a terminal, lines can be edited, those with a slash are commands, and an error ends only its turn.
  // What comes through a pipe is text: a stranger's must not be able to write files.
  void talk(Screen& screen, const std::string& prompt);

  // Forgets the text: back to where the dialogue began.
  void reset();
  bool has_state() const;  // only Mega models have one
  // The model's state, for --load-state. Error for models that have none.
  void save(const std::string& file) const;
  void load(const std::string& file);

 private:
  void take_turn(Screen& screen, const std::string& line);
  void start_from(std::unique_ptr<infer::Predictor> predictor);

  const AnyLanguageModel& model_;
  infer::GenerateOptions options_;
  std::unique_ptr<infer::Predictor> predictor_;
  bool begins_line_ = true;
  size_t prompt_tokens_ = 0;
};

}  // namespace mega::cli
