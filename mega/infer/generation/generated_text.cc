#include "mega/infer/generation/generated_text.h"

#include "mega/base/error.h"
#include "mega/infer/generation/log_probability.h"

namespace mega::infer {
namespace {

const GenerateOptions& checked(const GenerateOptions& options) {
  check_ranges(options, "generate");
  return options;
}

// A model may have more token types than its tokenizer; the extra ones have no text.
std::span<const float> logits_with_text(std::span<const float> logits, const Tokenizer& tokenizer) {
  const auto types = static_cast<size_t>(tokenizer.size());
  require(logits.size() >= types, "the model has ", logits.size(), " token types but its tokenizer ", types,
          ": they do not belong together");
  return logits.first(types);
}

}  // namespace

GeneratedText::GeneratedText(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                             const GenerateOptions& options, bool begins_line)
    : tokenizer_(tokenizer),
      max_tokens_(checked(options).max_tokens),
      sampler_(options.sampler),
      output_(options.stop, begins_line),
      history_(prompt.begin(), prompt.end()),
      prompt_tokens_(prompt.size()) {
  for (const int32_t token : prompt)
    require(token >= 0 && token < tokenizer.size(), "the prompt has token ", token, ": expected 0 to ",
            tokenizer.size() - 1);
}

bool GeneratedText::ended() const { return output_.stopped() || tokens() >= max_tokens_; }

int32_t GeneratedText::draw(std::span<const float> logits) {
  const int32_t token = sampler_.draw(logits_with_text(logits, tokenizer_), history_);
  log_probabilities_ += log_probability(logits, token);
  const bool inside_word = !history_.empty() && tokenizer_.ends_inside_word(history_.back());
  history_.push_back(token);
  piece_ = output_.add(tokenizer_.text(token, inside_word || output_.begins_line()));
  text_ += piece_;
  return token;
}

std::string GeneratedText::finish() {
  if (output_.stopped()) return "";
  std::string rest = output_.finish();
  text_ += rest;
  return rest;
}

GenerateResult GeneratedText::result(bool interrupted) const {
  GenerateResult result;
  result.tokens.assign(history_.begin() + static_cast<ptrdiff_t>(prompt_tokens_), history_.end());
  result.text = text_;
  // A completed stop string is the reason even if the last token also reached the limit.
  result.reason = output_.stopped() ? StopReason::stop_string
                  : interrupted     ? StopReason::interrupted
                                    : StopReason::max_tokens;
  if (!result.tokens.empty())
    result.mean_log_probability = log_probabilities_ / static_cast<double>(result.tokens.size());
  return result;
}

}  // namespace mega::infer
