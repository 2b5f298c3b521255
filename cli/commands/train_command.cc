#include "cli/commands/train_command.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "cli/commands.h"
#include "cli/help/option_list.h"
#include "mega/base/strings.h"
#include "mega/report/terminal.h"

namespace mega::cli {
namespace {

// All options that --set accepts, of the preset if one is given. The filter may be the name of one: whoever
// types `--options text-small` means that.
void print_options(const TrainCommand& command) {
  const std::vector<std::string> presets = preset_names();
  std::string name = command.recipe, filter = command.options_filter;
  if (name.empty() && std::find(presets.begin(), presets.end(), filter) != presets.end()) filter.swap(name);
  Recipe recipe = name.empty() ? Recipe() : load_recipe(name);
  command.apply(recipe);
  const int64_t width = terminal_width(stdout);
  const std::string list = option_list(recipe, filter, width);
  const std::string title = (name.empty() ? "Options and their defaults" : "Options of " + name) +
                            "; * differs from the default. Change any with --set key=value.";
  std::printf("%s\n\n%s", join(wrap(title, width), "\n").c_str(), list.c_str());
}

constexpr Shorthand kShorthands[] = {{"--time", "train.time", "TIME"},
                                     {"--epochs", "train.epochs", "X"},
                                     {"--updates", "train.updates", "N"},
                                     {"--lr", "train.learning_rate", "X"},
                                     {"--batch", "train.batch", "N"},
                                     {"--seed", "train.seed", "N"},
                                     {"--text-column", "data.text_column", "NAME"},
                                     {"--label-column", "data.label_column", "NAME"}};

// With the help of the option that they stand for.
void add_shorthands(CLI::App& app, TrainCommand& command) {
  const std::vector<OptionRow> rows = option_rows(Recipe());
  for (const Shorthand& shorthand : kShorthands) {
    const std::string key = shorthand.key;
    const auto is_it = [&](const OptionRow& row) { return row.key == key; };
    const auto row = std::find_if(rows.begin(), rows.end(), is_it);
    require(row != rows.end(), shorthand.flag, ": there is no option ", key);
    const auto use = [&command, key](const std::string& value) {
      command.shorthands.push_back(key + "=" + value);
    };
    app.add_option_function<std::string>(shorthand.flag, use,
                                         row->help + " (short for --set " + key + "=" + shorthand.value + ")")
        ->type_name(shorthand.value);
  }
}

// Errors in the recipe are reported at once, before anything slow. The recipe of a run that is resumed is
// read by who resumes it.
void check(const TrainCommand& command) {
  if (command.recipe.empty() || command.resume) return;
  Recipe recipe = load_recipe(command.recipe);
  command.apply(recipe);
}

}  // namespace

std::span<const Shorthand> train_shorthands() { return kShorthands; }

void TrainCommand::apply(Recipe& loaded, bool has_begun) const {
  if (!data.empty()) loaded.data.path = data;
  if (!init.empty()) loaded.train.init = init;
  // However the user says how long to train, it replaces what the recipe says.
  const std::vector<std::string> set = keys();
  const auto is_set = [&](const char* key) { return std::find(set.begin(), set.end(), key) != set.end(); };
  if (is_set("train.updates") || is_set("train.epochs") || is_set("train.time")) {
    loaded.train.epochs = 0.0;
    loaded.train.time.clear();
  }
  const int64_t updates = loaded.train.updates;
  for (const std::string& assignment : shorthands) change(loaded, assignment);
  for (const std::string& assignment : changes) change(loaded, assignment);
  // A warm-up that does not fit into fewer updates keeps its share of them, unless the user set it.
  TrainOptions& train = loaded.train;
  if (is_set("train.updates") && !is_set("train.warmup") && train.warmup > train.updates)
    train.warmup = train.warmup * train.updates / std::max<int64_t>(1, updates);
  // What the user chose stays.
  const auto is_length = [](const std::string& key) {
    return key.ends_with(".max_positions") || key.ends_with(".kernel_length");
  };
  if (!has_begun && std::none_of(set.begin(), set.end(), is_length)) make_for_input(loaded);
}

std::vector<std::string> TrainCommand::keys() const {
  std::vector<std::string> keys;
  for (const auto* assignments : {&shorthands, &changes})
    for (const std::string& assignment : *assignments)
      keys.emplace_back(trim(std::string_view(assignment).substr(0, assignment.find('='))));
  return keys;
}

void add_train(CLI::App& app, Runner<TrainCommand> run) {
  auto command = std::make_shared<TrainCommand>();
  CLI::App* sub = app.add_subcommand("train", "train a model on labelled sequences, text or parallel text");
  sub->add_option("recipe", command->recipe, "preset (`mega presets`) or .toml file");
  sub->add_option("--data", command->data, "data file or folder (data.path)")->type_name("PATH");
  sub->add_option("--out", command->out, "run directory (default: runs/RECIPE)")->type_name("DIR");
  sub->add_option("--set", command->changes,
                  "set any option, key=value; may be repeated; --options lists them")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  add_shorthands(*sub, *command);
  sub->add_option("--init", command->init,
                  "model file to initialise from (train.init); tensors that do not match are listed")
      ->type_name("FILE");
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
  CLI::Option* list =
      sub->add_option(
             "--options", command->options_filter,
             "list all options for --set, with the values of the preset if one is given; with FILTER, "
             "those that have it in their name or meaning")
          ->expected(0, 1)
          ->type_name("FILTER");
  sub->callback([command, list, run = std::move(run)] {
    if (list->count() > 0) return print_options(*command);
    check(*command);
    run(*command);
  });
}

}  // namespace mega::cli
