#include "mega/train/linear_baseline.h"

#include <algorithm>
#include <chrono>

#include "mega/report/progress.h"
#include "mega/train/adamw.h"
#include "mega/train/tasks/sequence_task.h"

namespace mega::train {
namespace {

using Clock = std::chrono::steady_clock;

// Training ends after the given share of the time, so that evaluating fits, too.
constexpr double kForTraining = 0.7;

// Returns the seconds that an example took.
double train(SequenceTask& task, const TrainOptions& options, double seconds) {
  AdamW optimizer(task.model().parameters(), options);
  const double updates = options.epochs * static_cast<double>(task.batches_per_epoch());
  const auto start = Clock::now();
  Progress progress("linear baseline", static_cast<int64_t>(updates), "updates");
  int64_t examples = 0;
  for (int64_t update = 0;; ++update) {
    const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    const double done = std::max(static_cast<double>(update) / updates, elapsed / seconds);
    if (done >= 1.0) return elapsed / static_cast<double>(std::max<int64_t>(1, examples));
    const int64_t count = task.draw(1);
    examples += count;
    optimizer.zero_gradients();
    (task.loss(0).sum / static_cast<double>(count)).backward();
    optimizer.step((1.0 - done) * options.learning_rate);
    progress.update(update + 1);
  }
}

// Evaluations read as much as fits into the time, evenly spread; at least enough to say something.
void limit_evaluations(SequenceTask& task, double examples) {
  constexpr double kFewest = 200.0;
  const EvaluationSizes all = task.evaluation_sizes();
  const double total = static_cast<double>(std::max<int64_t>(1, all.valid + all.test));
  const auto part = [&](int64_t size) {
    return static_cast<int64_t>(std::max(kFewest, examples * static_cast<double>(size) / total));
  };
  if (examples < total) task.limit_evaluations({part(all.valid), part(all.test)});
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
  const double example_seconds = train(task, linear.train, kForTraining * max_seconds);
  limit_evaluations(task, (1.0 - kForTraining) * max_seconds / std::max(example_seconds, 1e-9));
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
