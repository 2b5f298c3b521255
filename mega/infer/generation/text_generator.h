// Generated text that is taken piece by piece. generate() is the same for callers who are handed the pieces.
//
//   TextGenerator text(std::make_shared<Session>(...), model->tokenizer(), prompt, options);
//   for (std::string piece = text.next(); !piece.empty(); piece = text.next()) std::cout << piece;
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "mega/infer/generation/generate.h"
#include "mega/infer/generation/generated_text.h"
#include "mega/infer/generation/predictor.h"

namespace mega::infer {

class TextGenerator {
 public:
  // Reads the prompt, after </s> if the predictor is new. It continues from its position, and after each
  // piece it has read all tokens of the text. The tokenizer must outlive this. A call that fails leaves the
  // predictor unchanged.
  TextGenerator(std::shared_ptr<Predictor> predictor, const Tokenizer& tokenizer,
                std::span<const int32_t> prompt, const GenerateOptions& options);

  // The next text that can be printed, in whole characters: the tokens so far do not end in the middle of one
  // or of a stop string. "" at the end. After an Error nothing more comes.
  std::string next();

  int64_t tokens() const { return text_.tokens(); }  // generated so far

 private:
  std::shared_ptr<Predictor> predictor_;
  GeneratedText text_;
  bool ended_ = false;
};

}  // namespace mega::infer
