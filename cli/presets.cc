#include "mega/config/presets.h"

#include <cstdio>

#include "cli/commands.h"
#include "mega/base/strings.h"
#include "mega/baselines/model_builders.h"
#include "mega/config/parameter_count.h"
#include "mega/ops/runtime.h"
#include "mega/report/table.h"
#include "mega/train/estimate.h"
#include "mega/train/language_task.h"

namespace mega::cli {
namespace {

// "" for models that this version cannot build.
std::string parameters_of(const ModelOptions& options) {
  if (!options.kind().is_available()) return "";
  return with_thousands(count_parameters(options).total);
}

// Max positions that the input options allow; 0: no limit.
int64_t longest(const InputOptions& options) {
  struct Longest {
    int64_t operator()(const TextInput& input) const { return input.max_length; }
    int64_t operator()(const ImageInput& input) const { return input.height * input.width; }
    int64_t operator()(const AudioInput& input) const { return input.length; }
    int64_t operator()(const SeriesInput& input) const { return input.max_length; }
    int64_t operator()(const LanguageInput&) const { return 0; }
  };
  return std::visit(Longest(), options.input);
}

// Positions read during the whole training run, and the sequence length; 0 if unknown.
struct Volume {
  double positions = 0.0;
  int64_t length = 0;
};

Volume volume_of(const Recipe& recipe) {
  const TrainOptions& train = recipe.train;
  const double batches = static_cast<double>(train.updates * train.accumulation);
  if (token_options(recipe.model) != nullptr) {
    const BlockPlan plan = block_plan(recipe);
    const int64_t length = plan.chunk * (plan.min_chunks + plan.max_chunks) / 2;
    const int64_t each = train.batch_unit == BatchUnit::tokens ? 1 : length;
    return {batches * static_cast<double>(train.batch * each), length};
  }
  const int64_t length = longest(recipe.input);
  if (sequence_options(recipe.model) == nullptr || length == 0) return {};
  return {batches * static_cast<double>(train.batch * length * recipe.model.kind().document_count()), length};
}

// Time of a full training run on this machine with sequences of full length, assuming half of the sgemm rate,
// which most models reach.
std::string time_here(const Recipe& recipe, double gflops) {
  constexpr double kShare = 0.5;
  const Volume volume = volume_of(recipe);
  if (volume.length == 0) return "";
  return human_seconds(6e-9 * recipe.model.kind().multiply_adds(volume.length) * volume.positions /
                       (kShare * gflops));
}

void list_presets() {
  const double gflops = train::sgemm_gflops();
  Table table({"preset", "parameters", "training time", "description"});
  for (const std::string& name : preset_names()) {
    const Recipe recipe = load_preset(name);
    table.add({name, parameters_of(recipe.model), time_here(recipe, gflops), recipe.description});
  }
  std::fputs(table.plain().c_str(), stdout);
  std::printf(
      "\nTimes are estimates for sequences of full length on %d threads (sgemm %.0f GFLOP/s); "
      "`mega train --estimate` measures.\n",
      ops::threads(), gflops);
}

}  // namespace

void add_presets(CLI::App& app) {
  app.add_subcommand("presets", "list presets with their size and training time on this machine")
      ->callback([] {
        ops::set_threads(0);
        list_presets();
      });
}

}  // namespace mega::cli
