// Batched generation: the model's weights are read once for a token of each text.
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

// Creates predictors of one model, all at the same position, where each text starts.
class PredictorSource {
 public:
  virtual ~PredictorSource() = default;

  virtual std::unique_ptr<Predictor> make() const = 0;

  // Feeds tokens[i] to predictors[i], which were made here; sequentially unless the model supports batches.
  virtual void feed(std::span<Predictor* const> predictors,
                    std::span<const std::span<const int32_t>> tokens) const;
};

// Forks of a session, which is new or has read a common prefix. They are fed in batches.
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
  int64_t number = 0;  // index of the prompt, from 0
  std::string prompt;
  std::vector<int32_t> prompt_tokens;
  GenerateResult result;  // its seconds include the other texts of the batch
};

struct GenerateManyRequest {
  GenerateOptions options;
  int64_t batch = 8;  // number of texts generated in parallel

  // Returns the next prompt, or nullopt at the end. Called as soon as there is space in the batch.
  std::function<std::optional<std::string>()> next_prompt;
  // Called with the answers in the order of the prompts.
  std::function<void(const PromptAnswer&)> use;
  // Called after every token; false stops all texts.
  std::function<bool()> go_on;
};

// Generates what generate() would for each prompt alone, prompt n with the seed options.sampler.seed + n; the
// batch size affects only rounding. When a text ends, the next prompt takes its place.
void generate_many(const PredictorSource& model, const Tokenizer& tokenizer,
                   const GenerateManyRequest& request);

}  // namespace mega::infer
