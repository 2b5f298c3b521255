#include "bench/systems.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/baselines/model_builders.h"
#include "mega/ops/form.h"
#include "mega/text/tokens.h"
#include "mega/train/adamw.h"

namespace mega::bench {
namespace {

using torch::Tensor;

constexpr int64_t kShort = 64;

Tensor random_tokens(int64_t vocabulary, int64_t batch, int64_t length) {
  return torch::randint(kFirstSymbol, vocabulary, {batch, length}, torch::kInt64);
}

// Forward, backward and AdamW on random examples.
Sample measure_step(const Recipe& recipe, int64_t length, int64_t batch) {
  const SequenceOptions* options = sequence_options(recipe.model);
  require(options != nullptr, "this measures training steps of classifiers, not of a model of kind ",
          in_quotes(recipe.model.kind_name()));
  const auto model = baselines::make_sequence_model(recipe.model);
  model->train();
  train::AdamW optimiser(model->parameters(), recipe.train);
  const auto step = [&](int64_t positions) {
    const Tensor values = options->input == InputKind::tokens
                              ? random_tokens(options->vocabulary, batch, positions)
                              : torch::randn({batch, positions});
    const std::vector<models::Sequences> documents(static_cast<size_t>(recipe.model.kind().document_count()),
                                                   models::Sequences{values, {}});
    const Tensor labels = torch::randint(options->classes, {batch}, torch::kInt64);
    optimiser.zero_gradients();
    torch::nn::functional::cross_entropy(model->predict(documents), labels).backward();
    optimiser.step(1e-4);
  };
  // A short one first: libraries, threads, gradients and the optimiser's state are there before the
  // measurement.
  step(std::min(kShort, length));
  return measure_here([&] { step(length); });
}

int64_t numbers(const nn::State& state) {
  int64_t sum = 0;
  for (const auto& [name, tensor] : nn::to_tensors(state, "")) sum += tensor.numel();
  return sum;
}

// Reads text as evaluation does, far from its beginning; seconds per scored token. A window is read whole for
// its last `stride` tokens; others read `length` tokens behind a state that is as large as it gets.
Sample measure_scoring(const Recipe& recipe, int64_t length, int64_t batch) {
  const TokenOptions* options = token_options(recipe.model);
  require(options != nullptr, "this measures language models, not a model of kind ",
          in_quotes(recipe.model.kind_name()));
  const torch::NoGradGuard no_gradients;
  const auto model = baselines::make_token_model(recipe.model);
  model->eval();
  const ReadingPlan plan = recipe.model.kind().reading();
  const int64_t read = plan.has_window() ? plan.window : length,
                scored = plan.has_window() ? plan.stride : length;
  const Tensor tokens = random_tokens(options->vocabulary, batch, read);
  nn::State before;
  model->features(tokens.slice(1, 0, std::min(kShort, read)));
  if (!plan.has_window()) {
    constexpr int kMost = 64;
    int64_t size = -1;
    for (int i = 0; i < kMost && numbers(before) != size; ++i) {
      size = numbers(before);
      model->features(tokens, {}, &before);
    }
  }
  const auto last = [&](const Tensor& x) { return x.slice(1, x.size(1) - scored).flatten(0, 1); };
  Sample sample = measure_here([&] {
    nn::State state = before;
    const Tensor features = model->features(tokens, {}, plan.has_window() ? nullptr : &state);
    model->losses(last(features), last(tokens));
  });
  sample.seconds /= static_cast<double>(batch * scored);
  return sample;
}

}  // namespace

RoundPlan SystemsSettings::plan(const std::string& title) const {
  return quick ? RoundPlan{title, std::min(repeats, kQuickRounds), kQuickSeconds} : RoundPlan{title, repeats};
}

int64_t SystemsSettings::one_length(int64_t usual) const {
  require(lengths.size() <= 1, "--length: this table is of one length, not of ", lengths.size());
  return lengths.empty() ? usual : lengths.front();
}

Recipe recipe_of(const System& system, int64_t length) {
  Recipe recipe = load_recipe(system.preset);
  for (const std::string& assignment : system.changes) change(recipe, assignment);
  recipe.model.kind().make_for(length);
  return recipe;
}

std::vector<System> chosen(const std::vector<System>& all, const std::vector<std::string>& only) {
  if (only.empty()) return all;
  std::vector<System> systems;
  for (const std::string& name : only) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const System& s) { return s.name == name; });
    std::vector<std::string> names;
    for (const System& system : all) names.push_back(system.name);
    require(found != all.end(), "--only: there is no system ", in_quotes(name), " in this table; it has ",
            join(names, ", "));
    systems.push_back(*found);
  }
  return systems;
}

Trial trial_of(const std::string& work, const System& system, int64_t length,
               const SystemsSettings& settings) {
  Trial trial{system.name,
              {"bench", "table2", "--trial", work, "--preset", system.preset, "--forms",
               system.plain ? "reference" : "fused", "--length", std::to_string(length), "--batch",
               std::to_string(settings.batch), "--threads", std::to_string(settings.threads)}};
  for (const std::string& assignment : system.changes)
    trial.arguments.insert(trial.arguments.end(), {"--set", assignment});
  return trial;
}

Sample run_trial(const std::string& work, const System& system, int64_t length, int64_t batch) {
  const ops::FormGuard guard(system.plain ? ops::Form::reference : ops::Form::fused);
  const Recipe recipe = recipe_of(system, length);
  return work == kStep ? measure_step(recipe, length, batch) : measure_scoring(recipe, length, batch);
}

}  // namespace mega::bench
