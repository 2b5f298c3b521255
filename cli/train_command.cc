#include "cli/train_command.h"

#include <cstdio>
#include <memory>
#include <utility>

#include "cli/commands.h"
#include "mega/base/strings.h"
#include "mega/report/table.h"

namespace mega::cli {
namespace {

// All options that --set accepts.
void print_options() {
  Table table({"option", "default", "meaning", "values"});
  for (const OptionRow& row : option_rows(Recipe{}))
    table.add({row.key, row.default_value, row.help, row.type});
  std::fputs(table.plain().c_str(), stdout);
}

// Errors in the recipe are reported at once, before anything slow. The recipe of a run that is resumed is
// read by who resumes it.
void check(const TrainCommand& command) {
  if (command.recipe.empty() || command.resume) return;
  Recipe recipe = load_recipe(command.recipe);
  command.apply(recipe);
}

}  // namespace

void TrainCommand::apply(Recipe& loaded) const {
  if (!data.empty()) loaded.data.path = data;
  if (!init.empty()) loaded.train.init = init;
  if (!time.empty()) loaded.train.time = time;
  for (const std::string& assignment : changes) change(loaded, assignment);
}

std::vector<std::string> TrainCommand::keys() const {
  std::vector<std::string> keys;
  if (!time.empty()) keys.emplace_back("train.time");
  for (const std::string& assignment : changes)
    keys.emplace_back(trim(std::string_view(assignment).substr(0, assignment.find('='))));
  return keys;
}

void add_train(CLI::App& app, Runner<TrainCommand> run) {
  auto command = std::make_shared<TrainCommand>();
  CLI::App* sub = app.add_subcommand("train", "train a model on labelled sequences or text");
  sub->add_option("recipe", command->recipe, "preset (`mega presets`) or .toml file");
  sub->add_option("--data", command->data, "data file or folder (data.path)")->type_name("PATH");
  sub->add_option("--out", command->out, "run directory (default: runs/RECIPE)")->type_name("DIR");
  sub->add_option("--set", command->changes,
                  "set any option, key=value; may be repeated; --options lists them")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  sub->add_option("--init", command->init,
                  "model file to initialise from (train.init); tensors that do not match are listed")
      ->type_name("FILE");
  sub->add_option("--time", command->time,
                  "wall-clock time of the whole run (10m, 1h), data and test included (train.time)")
      ->type_name("TIME");
  sub->add_option("--seeds", command->seeds,
                  "repeat with these seeds (1..5 or 1,2,7), report mean ± standard deviation")
      ->type_name("SEEDS");
  sub->add_option("--threads", command->threads, "number of threads (default: all cores)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--device", command->device,
                  "cpu, or cuda if libtorch supports it (reference forms, untested)")
      ->type_name("DEVICE")
      ->capture_default_str();
  sub->add_flag("--resume", command->resume, "resume from the newest checkpoint in --out");
  sub->add_flag("--restart", command->restart, "start over in --out, replacing the run it holds");
  sub->add_flag("--estimate", command->estimate, "print estimated time and memory, and exit");
  sub->add_flag("--options", command->help_options, "list all options for --set with their defaults");
  sub->callback([command, run = std::move(run)] {
    if (command->help_options) return print_options();
    check(*command);
    run(*command);
  });
}

}  // namespace mega::cli
