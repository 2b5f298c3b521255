#include "bench/language.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "bench/step.h"
#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/baselines/model_builders.h"
#include "mega/config/recipe/presets.h"
#include "mega/text/tokens.h"

namespace mega::bench {
namespace {

using torch::Tensor;

constexpr const char* kSmall = "bytes-small";

Tensor random_tokens(const ModelOptions& options, int64_t batch, int64_t length) {
  return torch::randint(kFirstSymbol, token_options(options)->vocabulary, {batch, length}, torch::kInt64);
}

// Reads `tokens` and scores the last `scored` of each row, as evaluation does
// (mega/train/evaluation/text_evaluation.h).
std::function<void()> scorer(const ModelOptions& options, const Tensor& tokens, int64_t scored,
                             bool streaming) {
  const auto model = baselines::make_token_model(options);
  model->eval();
  return [=] {
    const torch::NoGradGuard no_gradients;
    nn::State state;
    const Tensor features = model->features(tokens, {}, streaming ? &state : nullptr);
    const auto last = [&](const Tensor& x) { return x.slice(1, x.size(1) - scored).flatten(0, 1); };
    model->losses(last(features), last(tokens));
  };
}

// Segments of whole chunks with a carried state.
Candidate mega_score(const Settings& settings, int64_t length) {
  Recipe recipe = load_recipe(settings.preset);
  auto* mega = std::get_if<LanguageModelOptions>(&recipe.model.model);
  require(mega != nullptr, "this benchmark needs a preset of a language model; ", in_quotes(settings.preset),
          " is not one");
  if (settings.chunk != 0) mega->block.chunk = settings.chunk;
  Candidate candidate{
      "score " + settings.preset + ", chunk " + std::to_string(mega->block.chunk) + ", B " +
          std::to_string(settings.batch) + ", L " + std::to_string(length),
      "fused", scorer(recipe.model, random_tokens(recipe.model, settings.batch, length), length, true)};
  candidate.tokens = static_cast<double>(settings.batch * length);
  candidate.flops = 2.0 * recipe.model.kind().multiply_adds(length) * candidate.tokens;
  return candidate;
}

// A sliding window of which only the last `stride` tokens are scored, no longer than Mega's segments.
Candidate transformer_score(const Settings& settings, int64_t length) {
  Recipe recipe = load_recipe(settings.preset);
  change(recipe, "model.kind=transformer");
  auto& peer = std::get<TransformerLanguageOptions>(recipe.model.model);
  peer.window = std::min(peer.window, length);
  peer.stride = std::min(peer.stride, length);
  Candidate candidate{"score its Transformer, window " + std::to_string(peer.window) + ", stride " +
                          std::to_string(peer.stride),
                      "fused",
                      scorer(recipe.model, random_tokens(recipe.model, 1, peer.window), peer.stride, false)};
  candidate.tokens = static_cast<double>(peer.stride);
  candidate.flops = 2.0 * recipe.model.kind().multiply_adds(peer.window) * static_cast<double>(peer.window);
  return candidate;
}

// On blocks of the maximum length, or of `longest` if that is shorter.
Candidate training_step(int64_t longest) {
  const Recipe recipe = load_preset(kSmall);
  const auto& options = std::get<LanguageModelOptions>(recipe.model.model);
  const int64_t most = options.block.chunk * recipe.train.blocks.max_chunks;
  const Shape shape{recipe.train.batch / most, std::min(longest, most)};
  return language_step(recipe, std::string("training step ") + kSmall + ", " + shape_name(shape), "fused",
                       shape);
}

}  // namespace

std::vector<Candidate> language_cases(const Settings& settings) {
  const int64_t length = settings.lengths.front();
  return {mega_score(settings, length), transformer_score(settings, length), training_step(length)};
}

}  // namespace mega::bench
