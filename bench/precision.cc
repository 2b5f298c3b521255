#include "bench/precision.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/measure.h"
#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/temporary_folder.h"
#include "mega/base/strings.h"
#include "mega/config/recipe/presets.h"
#include "mega/data/generators/listops.h"
#include "mega/ops/precision.h"
#include "mega/report/table.h"
#include "mega/train/tasks/job.h"
#include "mega/train/trainer.h"

namespace mega::bench {
namespace {

namespace fs = std::filesystem;

Recipe recipe_of(const PrecisionSettings& settings, const fs::path& folder) {
  Recipe recipe = load_recipe(settings.preset);
  recipe.data.path = settings.data;
  if (settings.data.empty()) {
    require(settings.preset == PrecisionSettings().preset, "the preset ", in_quotes(settings.preset),
            " needs data: name it with --data");
    constexpr int64_t kTrain = 20000, kValid = 1000, kTest = 10;
    data::ListOpsOptions options;
    options.depth = 6;
    options.arguments = 5;
    options.min_length = 10;
    options.max_length = 100;
    data::write_listops(folder / "data", options, kTrain, kValid, kTest, 1);
    recipe.data.path = (folder / "data").string();
  }
  recipe.train.updates = settings.updates;
  recipe.train.epochs = 0.0;
  recipe.train.time.clear();
  recipe.train.warmup = std::min(recipe.train.warmup, settings.updates / 4);
  recipe.train.evaluate = recipe.train.checkpoint = "0";
  recipe.train.baseline = false;
  validate(recipe);
  return recipe;
}

// The mean loss of the last tenth of the updates, and the mean speed.
void read_metrics(const fs::path& file, int64_t updates, PrecisionRow& row) {
  double losses = 0.0, count = 0.0, points = 0.0;
  for (const std::string& line : split(read_file(file), '\n')) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("positions_per_second")) continue;
    row.positions_per_second += json.at("positions_per_second").get<double>();
    ++points;
    if (json.at("update").get<int64_t>() <= updates - updates / 10) continue;
    losses += json.at("loss").get<double>();
    ++count;
  }
  require(count > 0.0, "too few updates to see a loss: at least 20 are needed");
  row.loss = losses / count;
  row.positions_per_second /= points;
}

PrecisionRow train_once(const Recipe& recipe, const fs::path& folder) {
  fs::create_directories(folder);
  const auto job = train::make_job(recipe);
  const auto task = job->make_task(torch::kCPU);
  train::RunSettings run;
  run.folder = folder;
  const train::Outcome outcome = train::Trainer(*task, job->recipe().train, run).run();
  require(outcome.signal == 0, "stopped by signal ", outcome.signal);
  PrecisionRow row{recipe.train.seed, outcome.state.precision};
  row.seconds = outcome.state.seconds;
  if (!outcome.state.best.metrics.empty()) {
    row.metric = outcome.state.best.metrics.front().name;
    row.value = outcome.state.best.metrics.front().value;
  }
  read_metrics(folder / "metrics.jsonl", recipe.train.updates, row);
  return row;
}

}  // namespace

PrecisionTable run_precision(const PrecisionSettings& settings) {
  require(ops::available_precision(Precision::bf16) == Precision::bf16,
          "this CPU does not multiply bf16 (AVX512-BF16): there is nothing to compare");
  const TemporaryFolder folder;
  Recipe recipe = recipe_of(settings, folder.path());
  PrecisionTable table{settings.preset, settings.updates, {}};
  for (int64_t seed = 1; seed <= settings.seeds; ++seed) {
    for (const Precision precision : {Precision::f32, Precision::bf16}) {
      recipe.train.seed = seed;
      recipe.train.precision = precision;
      table.rows.push_back(train_once(recipe, folder.path() / std::to_string(table.rows.size())));
    }
  }
  return table;
}

std::string PrecisionTable::markdown() const {
  Table table({"preset", "seed", "precision", "training loss", "valid", "tokens/s", "seconds"});
  for (const PrecisionRow& row : rows)
    table.add({preset + ", " + std::to_string(updates) + " updates", std::to_string(row.seed),
               std::string(to_string(row.precision)), number("%.4f", row.loss),
               row.metric + " " + number("%.4f", row.value),
               with_thousands(static_cast<int64_t>(row.positions_per_second)), number("%.1f", row.seconds)});
  return table.markdown();
}

std::string PrecisionTable::json() const {
  auto list = nlohmann::ordered_json::array();
  for (const PrecisionRow& row : rows)
    list.push_back({{"preset", preset},
                    {"updates", updates},
                    {"seed", row.seed},
                    {"precision", std::string(to_string(row.precision))},
                    {"loss", row.loss},
                    {"metric", row.metric},
                    {"value", row.value},
                    {"seconds", row.seconds},
                    {"tokens_per_second", row.positions_per_second}});
  return list.dump(2) + "\n";
}

}  // namespace mega::bench
