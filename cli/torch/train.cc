#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/seeds.h"
#include "cli/torch/torch_commands.h"
#include "mega/base/error.h"
#include "mega/base/files/json.h"
#include "mega/base/options/options_io.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/distributed/world.h"
#include "mega/ops/runtime.h"
#include "mega/report/terminal.h"
#include "mega/train/run.h"

namespace mega::cli {
namespace {

struct Train : TrainCommand {
  std::string typed;
  std::unique_ptr<distributed::World> world;  // null: one process

  bool leads() const { return world == nullptr || world->leads(); }
  Recipe load() const;
  Recipe load_together() const;
  void run();
  void train_seeds(Recipe loaded) const;
  train::RunResult run_one(const Recipe& recipe, const std::filesystem::path& folder) const;
};

std::string mean_and_deviation(const std::vector<double>& values, bool share) {
  const double factor = share ? 100 : 1;
  const auto [mean, deviation] = mean_deviation(values);
  char text[80];
  std::snprintf(text, sizeof text, share ? "%.2f %% ± %.2f" : "%.4f ± %.4f", mean * factor,
                deviation * factor);
  return text;
}

Recipe Train::load() const {
  require(!recipe.empty() || (resume && !out.empty()),
          "name a preset (`mega presets` lists them) or a .toml file, or resume a run: --resume --out DIR");
  const bool has_begun = resume && (recipe.empty() || train::holds_a_run(out));
  Recipe loaded = has_begun ? train::load_run_recipe(out) : load_recipe(recipe);
  apply(loaded, has_begun);
  return loaded;
}

train::RunResult Train::run_one(const Recipe& loaded, const std::filesystem::path& folder) const {
  require(!leads() || resume || restart || estimate || !train::holds_a_run(folder), folder.string(),
          " holds a run already: continue it with --resume, replace it with --restart, or choose another "
          "folder with --out DIR");
  train::RunRequest request;
  request.recipe = loaded;
  request.folder = folder;
  request.resume = resume;
  request.estimate_only = estimate;
  request.device = device;
  request.restart = restart;
  request.preset = recipe;
  request.set = keys();
  request.command = typed;
  request.world = world.get();
  const train::RunResult result = train::run(request);
  if (estimate || (!leads() && result.outcome.signal == 0)) return result;
  if (result.outcome.signal != 0) {
    if (world != nullptr) world->finish();
    if (leads())
      std::fprintf(stderr, "stopped; resume with: mega train --resume --out %s\n",
                   printable(folder.native()).c_str());
    std::exit(128 + result.outcome.signal);
  }
  if (result.outcome.stopped_early)
    std::fprintf(stderr, "stopped early: no improvement within the patience (train.patience)\n");
  for (const train::Metric& metric : result.test.metrics)
    std::printf("test %s\n", train::metric_text(metric).c_str());
  std::printf("model   %s\nreport  %s\n", printable((folder / "model.safetensors").native()).c_str(),
              printable((folder / "report.html").native()).c_str());
  return result;
}

// A run that is resumed has its recipe in a folder that only rank 0 needs to have.
Recipe Train::load_together() const {
  if (world == nullptr || !resume) return load();
  const std::string text = world->lead(leads() ? options_to_json(load()).dump() : "");
  Recipe loaded;
  options_from_json(loaded, parse_json(text, "recipe"), {"recipe", {}, ""});
  return loaded;
}

void Train::run() {
  world = distributed::join_world();
  if (!leads()) be_quiet();
  const int shared = world == nullptr ? 1 : world->local_size();
  ops::set_threads(threads > 0 ? threads : std::max(1, ops::available_cores() / shared));
  try {
    train_seeds(load_together());
  } catch (const distributed::RunLost&) {
    throw;
  } catch (const std::exception& error) {
    if (world != nullptr) world->report_failure(error.what());
    throw;
  }
  if (world != nullptr) world->finish();
}

void Train::train_seeds(Recipe loaded) const {
  const std::string name = recipe.empty() ? out : std::filesystem::path(recipe).stem().string();
  const std::filesystem::path folder =
      out.empty() ? std::filesystem::path("runs") / name : std::filesystem::path(out);
  if (seeds.empty()) {
    run_one(loaded, folder);
    return;
  }

  std::vector<std::vector<double>> values;
  train::Scores last;
  for (const int64_t seed : parse_seeds(seeds)) {
    if (leads()) std::fprintf(stderr, "== seed %lld\n", static_cast<long long>(seed));
    loaded.train.seed = seed;
    const train::RunResult result = run_one(loaded, folder / ("seed-" + std::to_string(seed)));
    last = result.test.metrics.empty() ? result.outcome.state.best : result.test;
    values.resize(last.metrics.size());
    for (size_t i = 0; i < last.metrics.size(); ++i) values[i].push_back(last.metrics[i].value);
  }
  for (size_t i = 0; leads() && i < values.size(); ++i)
    std::printf("%zu seeds: %s %s\n", values[i].size(), last.metrics[i].name.c_str(),
                mean_and_deviation(values[i], last.metrics[i].share).c_str());
}

}  // namespace

void run_train(const TrainCommand& command, const std::string& typed) {
  Train{command, typed, nullptr}.run();
}

}  // namespace mega::cli
