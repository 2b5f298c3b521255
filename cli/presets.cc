#include "mega/config/presets.h"

#include <cstdio>

#include "cli/commands.h"
#include "mega/base/table.h"
#include "mega/base/text.h"
#include "mega/models/parameter_count.h"
#include "mega/ops/runtime.h"
#include "mega/peers/factory.h"
#include "mega/train/estimate.h"

namespace mega::cli {
namespace {

// "" for a model this version cannot build.
std::string parameters_of(const ModelOptions& options) {
  if (sequence_options(options) == nullptr && token_options(options) == nullptr) return "";
  return with_thousands(models::count_parameters(*peers::make_any_model(options)).total);
}

// Positions that the input options let through; 0: no limit.
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

// Time of a full training run here with sequences of full length, if it reaches half of the sgemm rate as
// most do.
std::string time_here(const Recipe& recipe, double gflops) {
  constexpr double kShare = 0.5;
  const int64_t length = longest(recipe.input);
  if (sequence_options(recipe.model) == nullptr || length == 0) return "";
  const double positions = static_cast<double>(recipe.train.updates * recipe.train.accumulation) *
                           static_cast<double>(recipe.train.batch * length * peers::documents(recipe.model));
  return human_seconds(6e-9 * peers::multiply_adds(recipe.model, length) * positions / (kShare * gflops));
}

void list_presets() {
  const double gflops = train::sgemm_gflops();
  Table table({"preset", "parameters", "training here", "what it is"});
  for (const std::string& name : preset_names()) {
    const Recipe recipe = load_preset(name);
    table.add({name, parameters_of(recipe.model), time_here(recipe, gflops), recipe.description});
  }
  std::fputs(table.plain().c_str(), stdout);
  std::printf(
      "\nTimes are for sequences of full length on %d threads (sgemm %.0f GFLOP/s); `mega train --estimate` "
      "measures.\n",
      ops::threads(), gflops);
}

}  // namespace

void add_presets(CLI::App& app) {
  app.add_subcommand("presets", "what there is, with its size and the time to train it here")->callback([] {
    ops::set_threads(0);
    list_presets();
  });
}

}  // namespace mega::cli
