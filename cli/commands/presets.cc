#include "mega/config/recipe/presets.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "cli/commands.h"
#include "mega/base/strings.h"
#include "mega/config/parameter_count.h"
#include "mega/config/recipe/language_recipe.h"
#include "mega/config/recipe/longest_input.h"
#include "mega/infer/product_rate.h"
#include "mega/report/table.h"

namespace mega::cli {
namespace {

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
  if (translation_options(recipe.model) != nullptr) {
    constexpr int64_t kSentence = 32;  // nobody trains on the longest that can be read
    const int64_t each = train.batch_unit == BatchUnit::tokens ? 1 : kSentence;
    return {batches * static_cast<double>(train.batch * each), kSentence};
  }
  const int64_t length = longest_input(recipe.input);
  if (length == 0) return {};
  return {batches * static_cast<double>(train.batch * length * recipe.model.kind().document_count()), length};
}

// "12 min", "3 days": the largest unit of which there are at least two. More figures would claim a precision
// that an estimate does not have.
std::string rough_time(double seconds) {
  struct Unit {
    double seconds;
    const char* name;
  };
  constexpr std::array<Unit, 5> kUnits = {
      {{31557600, "years"}, {2629800, "months"}, {604800, "weeks"}, {86400, "days"}, {3600, "h"}}};
  constexpr double kMinute = 60;
  for (const Unit& unit : kUnits)
    if (seconds >= 2 * unit.seconds)
      return with_thousands(std::llround(seconds / unit.seconds)) + " " + unit.name;
  if (seconds < kMinute) return "< 1 min";
  return with_thousands(std::llround(seconds / kMinute)) + " min";
}

// Time of a full training run on this machine with sequences of full length. Most models reach half the rate
// of an optimised BLAS, and that is 0.7 of the rate of the engine's products.
std::string time_here(const Recipe& recipe, double gflops) {
  constexpr double kShare = 0.7;
  const Volume volume = volume_of(recipe);
  if (volume.length == 0) return "";
  return rough_time(6e-9 * recipe.model.kind().multiply_adds(volume.length) * volume.positions /
                    (kShare * gflops));
}

void list_presets() {
  infer::ThreadPool pool;
  const double gflops = infer::product_gflops(pool);
  Table table({"preset", "parameters", "time", "description"});
  for (const std::string& name : preset_names()) {
    const Recipe recipe = load_preset(name);
    table.add({name, with_thousands(count_parameters(recipe.model).total), time_here(recipe, gflops),
               recipe.description});
  }
  table.print(stdout);
  std::printf(
      "\nTimes are rough estimates of whole runs with sequences of full length, on %d\n"
      "threads of this machine; `mega train PRESET --data PATH --estimate` measures.\n",
      pool.threads());
}

}  // namespace

void add_presets(CLI::App& app) {
  app.add_subcommand("presets", "list presets with their size and training time on this machine")
      ->callback(list_presets);
}

}  // namespace mega::cli
