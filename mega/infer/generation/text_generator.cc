#include "mega/infer/generation/text_generator.h"

#include <utility>
#include <vector>

#include "mega/text/tokens.h"

namespace mega::infer {

TextGenerator::TextGenerator(std::shared_ptr<Predictor> predictor, const Tokenizer& tokenizer,
                             std::span<const int32_t> prompt, const GenerateOptions& options)
    : predictor_(std::move(predictor)), text_(tokenizer, prompt, options, begins_line(*predictor_, prompt)) {
  std::vector<int32_t> read(prompt.begin(), prompt.end());
  if (predictor_->position() == 0) read.insert(read.begin(), kEnd);
  predictor_->feed(read);
}

std::string TextGenerator::next() {
  if (ended_) return "";
  ended_ = true;  // unless all goes well: a token that could not be read must not be passed over
  while (!text_.ended()) {
    const int32_t token = text_.draw(predictor_->logits());
    predictor_->feed({&token, 1});
    if (!text_.piece().empty()) {
      ended_ = false;
      return text_.piece();
    }
  }
  return text_.finish();
}

}  // namespace mega::infer
