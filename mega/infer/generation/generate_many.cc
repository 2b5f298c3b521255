#include "mega/infer/generation/generate_many.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "mega/base/error.h"
#include "mega/infer/generation/generated_text.h"
#include "mega/text/tokens.h"

namespace mega::infer {
namespace {

using Clock = std::chrono::steady_clock;

// One text of the batch.
class Writing {
 public:
  Writing(std::unique_ptr<Predictor> predictor, const Tokenizer& tokenizer, PromptAnswer answer,
          const GenerateOptions& options)
      : predictor_(std::move(predictor)),
        answer_(std::move(answer)),
        text_(tokenizer, answer_.prompt_tokens, options, begins_line(*predictor_, answer_.prompt_tokens)),
        unread_(answer_.prompt_tokens) {
    if (predictor_->position() == 0) unread_.insert(unread_.begin(), kEnd);
  }

  Predictor* predictor() const { return predictor_.get(); }
  bool ended() const { return read_ == unread_.size() && text_.ended(); }

  // The tokens that the predictor must read next: more of the prompt, or the next token of the text. Until it
  // has read them, this must not be called again, and the object must not be moved.
  std::span<const int32_t> next() {
    if (read_ == unread_.size()) {
      if (!written_since_) written_since_ = Clock::now();
      unread_.assign(1, text_.draw(predictor_->logits()));
      read_ = 0;
    }
    const size_t piece = std::min(unread_.size() - read_, kPromptPiece);
    read_ += piece;
    return std::span(unread_).subspan(read_ - piece, piece);
  }

  PromptAnswer finish(bool interrupted) {
    if (!interrupted) text_.finish();
    answer_.result = text_.result(interrupted);
    const Clock::time_point now = Clock::now(), middle = written_since_.value_or(now);
    answer_.result.prompt_seconds = std::chrono::duration<double>(middle - begun_).count();
    answer_.result.seconds = std::chrono::duration<double>(now - middle).count();
    return std::move(answer_);
  }

 private:
  std::unique_ptr<Predictor> predictor_;
  PromptAnswer answer_;
  GeneratedText text_;
  std::vector<int32_t> unread_;  // the prompt, later the last token
  size_t read_ = 0;              // number of them already read
  Clock::time_point begun_ = Clock::now();
  std::optional<Clock::time_point> written_since_;
};

// Reorders answers from the order in which texts end to that of their prompts.
class InOrder {
 public:
  explicit InOrder(const std::function<void(const PromptAnswer&)>& use) : use_(use) {}

  void add(PromptAnswer answer) {
    const int64_t number = answer.number;
    early_.emplace(number, std::move(answer));
    for (auto first = early_.begin(); first != early_.end() && first->first == next_; ++next_) {
      use_(first->second);
      first = early_.erase(first);
    }
  }

 private:
  const std::function<void(const PromptAnswer&)>& use_;
  std::map<int64_t, PromptAnswer> early_;
  int64_t next_ = 0;
};

void feed_all(const PredictorSource& model, std::span<const std::unique_ptr<Writing>> texts) {
  std::vector<Predictor*> predictors;
  std::vector<std::span<const int32_t>> tokens;
  for (const auto& text : texts) {
    if (text->ended()) continue;  // e.g. with max_tokens = 0
    predictors.push_back(text->predictor());
    tokens.push_back(text->next());
  }
  if (!predictors.empty()) model.feed(predictors, tokens);
}

}  // namespace

void PredictorSource::feed(std::span<Predictor* const> predictors,
                           std::span<const std::span<const int32_t>> tokens) const {
  for (size_t i = 0; i < predictors.size(); ++i) predictors[i]->feed(tokens[i]);
}

void SessionSource::feed(std::span<Predictor* const> predictors,
                         std::span<const std::span<const int32_t>> tokens) const {
  std::vector<Session*> sessions;
  for (Predictor* predictor : predictors) sessions.push_back(static_cast<Session*>(predictor));
  feed_together(sessions, tokens);
  predict_together(sessions);
}

void generate_many(const PredictorSource& model, const Tokenizer& tokenizer,
                   const GenerateManyRequest& request) {
  require(request.batch >= 1, "batch of ", request.batch, " texts: expected at least 1");
  GenerateOptions options = request.options;
  int64_t taken = 0;
  const auto take = [&]() -> std::unique_ptr<Writing> {
    std::optional<std::string> prompt = request.next_prompt();
    if (!prompt) return nullptr;
    PromptAnswer answer{taken++, std::move(*prompt), {}, {}};
    answer.prompt_tokens = tokenizer.encode(answer.prompt);
    auto text = std::make_unique<Writing>(model.make(), tokenizer, std::move(answer), options);
    ++options.sampler.seed;  // new random numbers for the next text
    return text;
  };

  InOrder answers(request.use);
  std::vector<std::unique_ptr<Writing>> texts;
  bool more = true, wanted = true;
  while (wanted) {
    while (more && std::ssize(texts) < request.batch) {
      auto text = take();
      more = text != nullptr;
      if (more) texts.push_back(std::move(text));
    }
    if (texts.empty()) return;
    feed_all(model, texts);
    wanted = request.go_on();
    std::erase_if(texts, [&](const std::unique_ptr<Writing>& text) {
      if (wanted && !text->ended()) return false;
      answers.add(text->finish(!text->ended()));
      return true;
    });
  }
}

}  // namespace mega::infer
