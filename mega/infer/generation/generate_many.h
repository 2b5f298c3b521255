// Many texts that a model writes side by side: it is read once for a token of each of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mega/infer/generation/generate.h"
#include "mega/infer/generation/predictor.h"
#include "mega/infer/session.h"

namespace mega::infer {

// Predictors of one model, all at the same place: where each of many texts begins.
class PredictorSource {
 public:
  virtual ~PredictorSource() = default;

  virtual std::unique_ptr<Predictor> make() const = 0;

  // tokens[i] to predictors[i], which were made here; one after the other unless a model can do better.
  virtual void feed(std::span<Predictor* const> predictors,
                    std::span<const std::span<const int32_t>> tokens) const;
};

// Forks of a session, which is at the beginning of a text or after one that all have in common. They read
// together.
class SessionSource : public PredictorSource {
 public:
  explicit SessionSource(Session beginning) : beginning_(std::move(beginning)) {}

  std::unique_ptr<Predictor> make() const override { return std::make_unique<Session>(beginning_); }
  void feed(std::span<Predictor* const> predictors,
            std::span<const std::span<const int32_t>> tokens) const override;

 private:
  Session beginning_;
};

struct PromptAnswer {
  int64_t number = 0;  // of the prompt, from 0
  std::string prompt;
  std::vector<int32_t> prompt_tokens;
  GenerateResult result;  // its seconds are those of all texts that were written beside it
};

struct GenerateManyRequest {
  GenerateOptions options;
  int64_t batch = 8;  // texts at once

  // The prompt that comes next; none: there are no more. Asked as soon as there is room for another text.
  std::function<std::optional<std::string>()> next_prompt;
  // Gets the answers in the order of the prompts.
  std::function<void(const PromptAnswer&)> use;
  // Asked after every token: false ends all texts where they are.
  std::function<bool()> go_on;
};

// Writes what generate() would write for each prompt alone, number n with the seed options.sampler.seed + n;
// the batch changes rounding at most. When a text ends, the next prompt takes its place.
void generate_many(const PredictorSource& model, const Tokenizer& tokenizer,
                   const GenerateManyRequest& request);

}  // namespace mega::infer
