#include "mega/train/linear_baseline.h"

#include <algorithm>
#include <chrono>

#include "mega/report/progress.h"
#include "mega/train/adamw.h"
#include "mega/train/sequence_task.h"

namespace mega::train {
namespace {

using Clock = std::chrono::steady_clock;

// Training ends after the given share of the time, so that evaluating fits, too.
constexpr double kForTraining = 0.7;

void train(SequenceTask& task, const TrainOptions& options, double seconds) {
  AdamW optimizer(task.model().parameters(), options);
  const double updates = options.epochs * static_cast<double>(task.batches_per_epoch());
  const auto start = Clock::now();
  Progress progress("linear baseline", static_cast<int64_t>(updates), "updates");
  for (int64_t update = 0;; ++update) {
    const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    const double done = std::max(static_cast<double>(update) / updates, elapsed / seconds);
    if (done >= 1.0) return;
    const int64_t count = task.draw(1);
    optimizer.zero_gradients();
    (task.loss(0).sum / static_cast<double>(count)).backward();
    optimizer.step((1.0 - done) * options.learning_rate);
    progress.update(update + 1);
  }
}

}  // namespace

std::optional<BaselineScores> train_linear_baseline(const Recipe& recipe, const data::Dataset& dataset,
                                                    const Signature& signature, double max_seconds) {
  Recipe linear = load_preset("text-linear");
  const std::optional<ModelOptions> model = baseline_of(recipe.model, linear.model.kind_name());
  if (tokenizer_options(recipe.input) == nullptr || !model ||
      recipe.model.kind_name() == linear.model.kind_name())
    return std::nullopt;
  linear.model = *model;
  linear.input = recipe.input;
  linear.data = recipe.data;
  linear.train.seed = recipe.train.seed;

  const auto start = Clock::now();
  SequenceTask task(linear, dataset, signature, torch::kCPU);
  train(task, linear.train, kForTraining * max_seconds);
  BaselineScores result;
  result.name = linear.model.kind_name();
  result.title = "bag of n-grams (linear)";
  Report unused;
  result.valid = task.evaluate();
  result.test = task.test(unused);
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return result;
}

}  // namespace mega::train
