// `mega compare`: several models on the same data for the same time, and one report.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/commands/train_command.h"
#include "cli/compare/comparison.h"
#include "cli/launch/process_group.h"
#include "cli/seeds.h"
#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/json.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/config/recipe/presets.h"
#include "mega/report/progress.h"

namespace mega::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kChunk = "model.block.chunk";

// The value of an option, or nothing where the recipe's model has none of this name.
std::string option_of(const Recipe& recipe, const std::string& key) {
  for (const OptionRow& row : option_rows(recipe))
    if (row.key == key) return row.value;
  return "";
}

struct CompareCommand {
  std::string recipe, data, out, time = "20m", tune, seeds = "1";
  std::vector<std::string> models = {"mega", "transformer"}, variations, changes;
  int64_t updates = 0;
  int threads = 0;

  void run();

 private:
  struct Plan {
    std::string name;
    std::vector<std::string> changes;  // of the recipe
    double recipe_rate = 0.0;
  };

  Plan plan(const std::string& model) const;
  std::vector<Plan> varied(const std::string& variation) const;
  void finish(Plan& plan, Recipe recipe) const;
  void require_same_comparison() const;
  using Arguments = std::vector<std::string>;
  Arguments training(const Plan& plan, const fs::path& run, int64_t seed, double rate,
                     const Arguments& budget) const;
  bool train(const Arguments& command, const fs::path& run, const std::string& what);
  bool search_rate(const Plan& plan, ComparedModel& model);
  std::string command(const Arguments& budget) const;
  void write(const Comparison& comparison) const;
  fs::path folder() const { return out; }
  // Of a budget: seconds, or 1 for a number of updates, of which the time is not known.
  double cost(const std::string& budget) const { return updates > 0 ? 1.0 : parse_period(budget).count; }

  std::unique_ptr<Progress> progress_;
  double done_ = 0.0, total_ = 0.0;  // cost of the runs
};

// "mega" is the recipe's own model, with full attention or in chunks if the name says so; others are kinds.
CompareCommand::Plan CompareCommand::plan(const std::string& model) const {
  constexpr const char* kUsualChunk = "128";  // the paper's of the Long Range Arena
  Plan plan{model, changes, 0.0};
  Recipe loaded = load_recipe(recipe);
  if (model == "mega-full") {
    plan.changes.emplace_back(std::string(kChunk) + "=-1");
  } else if (model == "mega-chunk") {
    Recipe changed = loaded;
    for (const std::string& assignment : changes) change(changed, assignment);
    const std::string chunk = option_of(changed, kChunk);
    require(!chunk.empty(), "--models mega-chunk: the model of ", recipe, " has no chunks");
    if (chunk.starts_with('-')) plan.changes.push_back(std::string(kChunk) + "=" + kUsualChunk);
  } else if (model != "mega") {
    plan.changes.insert(plan.changes.begin(), "model.kind=" + model);
  }
  finish(plan, std::move(loaded));
  return plan;
}

// The recipe's own model with each of the values of an option: "model.block.chunk=16,64,-1".
std::vector<CompareCommand::Plan> CompareCommand::varied(const std::string& variation) const {
  const size_t equals = variation.find('=');
  require(equals != std::string::npos && equals > 0 && equals + 1 < variation.size(),
          "--vary: expected KEY=VALUE,VALUE,..., got ", in_quotes(variation));
  const std::string key = variation.substr(0, equals), name = key.substr(key.rfind('.') + 1);
  std::vector<Plan> plans;
  for (const std::string& value : split(variation.substr(equals + 1), ',')) {
    Plan plan{name + "=" + value, changes, 0.0};
    require(plan.name.find('/') == std::string::npos,
            "--vary: a value names a folder, and must not have a /");
    plan.changes.push_back(key + "=" + value);
    finish(plan, load_recipe(recipe));
    plans.push_back(std::move(plan));
  }
  return plans;
}

// What cannot be trained is refused here, before anything is.
void CompareCommand::finish(Plan& plan, Recipe loaded) const {
  const ModelTask task = loaded.model.kind().task();
  TrainCommand train;  // as its runs will be
  train.data = data;
  train.changes = plan.changes;
  train.shorthands = {updates > 0 ? "train.updates=" + std::to_string(updates) : "train.time=" + time};
  train.apply(loaded);
  require(loaded.model.kind().task() == task, plan.name, " cannot take the place of the model of ", recipe);
  validate(loaded);
  plan.recipe_rate = loaded.train.learning_rate;
}

// Models and seeds may be added to a comparison that is there; anything else would mix what differs.
void CompareCommand::require_same_comparison() const {
  const fs::path path = folder() / "settings.json";
  const nlohmann::json settings = {
      {"recipe", recipe}, {"data", data},       {"time", updates > 0 ? "" : time},
      {"tune", tune},     {"updates", updates}, {"set", changes}};
  if (fs::exists(path)) {
    const nlohmann::json before = parse_json(read_file(path), path.string());
    for (const auto& [name, value] : settings.items())
      require(before.contains(name) && before[name] == value, out, " holds a comparison with another ",
              name == "recipe" ? "" : "--", name, " (",
              json_text(before.contains(name) ? before[name] : nlohmann::json()), ", now ", json_text(value),
              "): choose another folder with --out, or remove it");
    return;
  }
  std::error_code error;
  fs::create_directories(folder(), error);
  require(!error, out, ": cannot create this folder: ", error.message());
  write_file(path, json_text(settings, 2) + "\n");
}

// A run that was stopped has its recipe, and what is left of its budget.
CompareCommand::Arguments CompareCommand::training(const Plan& plan, const fs::path& run, int64_t seed,
                                                   double rate, const Arguments& budget) const {
  Arguments command = {
      fs::read_symlink("/proc/self/exe"), "train", "--out", run, "--threads", std::to_string(threads)};
  const auto add = [&](const Arguments& words) { command.insert(command.end(), words.begin(), words.end()); };
  if (fs::exists(run / "recipe.json")) {
    add({"--resume"});
    return command;
  }
  add({recipe, "--seed", std::to_string(seed)});
  add(budget);
  if (!data.empty()) add({"--data", data});
  add({"--set", "train.baseline=false"});  // the same in each run
  for (const std::string& assignment : plan.changes) add({"--set", assignment});
  add({"--set", "train.learning_rate=" + rate_text(rate)});
  return command;
}

// Whether the run is finished, now or from an earlier time.
bool CompareCommand::train(const Arguments& command, const fs::path& run, const std::string& what) {
  if (is_finished(run)) return true;
  ProcessStart start;
  start.name = what;
  start.command = command;
  start.log = run.string() + ".log";
  const auto begin = std::chrono::steady_clock::now();
  const GroupEnd end = run_group({start}, std::chrono::seconds(0), [&] {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    const double seconds = updates > 0 ? 0.0 : elapsed.count();
    progress_->update(static_cast<int64_t>(std::min(total_, done_ + seconds)), {what});
  });
  if (end.signal != 0) {
    progress_.reset();
    std::fprintf(stderr, "stopped; the same command goes on\n");
    throw CLI::RuntimeError(128 + end.signal);
  }
  if (end.status != 0) progress_->say(what + " failed: see " + printable(start.log.native()));
  return end.status == 0 && is_finished(run);
}

// Whether there is a rate to train with.
bool CompareCommand::search_rate(const Plan& plan, ComparedModel& model) {
  const int64_t seed = parse_seeds(seeds).front();
  while (const auto rate = next_rate(plan.recipe_rate, model.rates)) {
    if (model.rates.size() >= kFewestRates) progress_->set_total(static_cast<int64_t>(total_ += cost(tune)));
    const std::string text = rate_text(*rate);
    const fs::path run = folder() / (plan.name + "-rate-" + text);
    TriedRate tried{*rate, kNoScore};
    // One evaluation, at the end: the rest of so short a time is for updates.
    const Arguments budget = {"--time", tune, "--set", "train.evaluate=0"};
    if (train(training(plan, run, seed, *rate, budget), run, plan.name + ", learning rate " + text)) {
      const TrainedRun result = read_trained_run(run);
      tried = {*rate, result.valid_loss, result.updates};
    }
    done_ += cost(tune);
    model.rates.push_back(tried);
  }
  const TriedRate best = best_rate(model.rates);
  if (best.updates < kFewUpdates && !std::isnan(best.loss))
    progress_->say(plan.name + ": " + std::to_string(best.updates) +
                   " updates say little about learning rates; a longer --tune helps");
  model.learning_rate = best.rate;
  return !std::isnan(best.loss);
}

// What makes this comparison again, or goes on with it.
std::string CompareCommand::command(const Arguments& budget) const {
  Arguments words = {"mega", "compare", recipe};
  const auto add = [&](const std::string& option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--models", join(models, ","));
  add("--data", data);
  words.insert(words.end(), budget.begin(), budget.end());
  add("--tune", tune);
  add("--seeds", seeds);
  add("--threads", threads > 0 ? std::to_string(threads) : "");
  for (const std::string& variation : variations) add("--vary", variation);
  for (const std::string& assignment : changes) add("--set", assignment);
  add("--out", out);
  for (std::string& word : words) word = shell_word(word);
  return join(words, " ");
}

void CompareCommand::write(const Comparison& comparison) const {
  write_file(folder() / "comparison.json", json_text(comparison.json(), 2) + "\n");
  write_file(folder() / "comparison.md", comparison.markdown());
  write_file(folder() / "comparison.html", comparison.html());
  for (const auto& [name, chart] : comparison.charts()) write_file(folder() / (name + ".svg"), to_svg(chart));
}

void CompareCommand::run() {
  const Recipe loaded = load_recipe(recipe);
  if (out.empty()) out = fs::path("runs") / ("compare-" + fs::path(recipe).stem().string());
  const std::vector<int64_t> all_seeds = parse_seeds(seeds);
  for (const std::string& text : {time, tune})
    require(text.empty() || parse_period(text).unit == Period::Unit::seconds,
            "expected a time such as 90s, 20m or 2h, got ", in_quotes(text));
  const Arguments budget =
      updates > 0 ? Arguments{"--updates", std::to_string(updates)} : Arguments{"--time", time};
  std::vector<Plan> plans;
  for (const std::string& model : models) plans.push_back(plan(model));
  for (const std::string& variation : variations)
    for (Plan& varied_plan : varied(variation)) plans.push_back(std::move(varied_plan));
  for (size_t i = 0; i < plans.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      require(plans[i].name != plans[j].name, "the model ", plans[i].name, " is there twice");
  require_same_comparison();

  Comparison comparison;
  comparison.recipe = fs::path(recipe).stem().string();
  comparison.description = loaded.description;
  comparison.budget = updates > 0 ? with_thousands(updates) + " updates" : time;
  comparison.command = command(budget);

  const auto count = [](const auto& list) { return static_cast<double>(list.size()); };
  const double searches = tune.empty() ? 0.0 : static_cast<double>(kFewestRates) * cost(tune);
  total_ = count(plans) * (searches + count(all_seeds) * cost(time));
  progress_ =
      std::make_unique<Progress>("compare", static_cast<int64_t>(total_), updates > 0 ? "runs" : "seconds");
  bool all_finished = true;
  for (const Plan& plan : plans) {
    ComparedModel model{plan.name, plan.recipe_rate, {}, {}};
    const bool has_rate = tune.empty() || search_rate(plan, model);
    if (!has_rate) progress_->say(plan.name + ": no learning rate led to a validation score; it is left out");
    all_finished = all_finished && has_rate;
    for (const int64_t seed : has_rate ? all_seeds : std::vector<int64_t>()) {
      const std::string what = plan.name + ", seed " + std::to_string(seed);
      ComparedRun one{seed, folder() / (plan.name + "-seed-" + std::to_string(seed)), {}};
      if (train(training(plan, one.folder, seed, model.learning_rate, budget), one.folder, what))
        one.result = read_trained_run(one.folder);
      else
        all_finished = false;
      done_ += cost(time);
      model.runs.push_back(std::move(one));
    }
    comparison.models.push_back(std::move(model));
    write(comparison);  // what is there already can be looked at
  }
  progress_->update(static_cast<int64_t>(total_), {"all models"});
  progress_.reset();
  comparison.table().print(stdout);
  std::printf("report  %s\n", printable((folder() / "comparison.html").native()).c_str());
  if (!all_finished) throw CLI::RuntimeError(1);
}

}  // namespace

void add_compare(CLI::App& app) {
  auto command = std::make_shared<CompareCommand>();
  CLI::App* sub = app.add_subcommand(
      "compare", "train several models on the same data for the same time, and report on them side by side");
  sub->add_option("recipe", command->recipe, "preset (`mega presets`) or .toml file")->required();
  CLI::Option* models =
      sub->add_option(
             "--models", command->models,
             "mega (the recipe's own model), mega-full, mega-chunk, or a kind of baseline: transformer, "
             "s4d, performer, ... (`mega train RECIPE --set model.kind=?` lists them)")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->capture_default_str()
          ->type_name("NAMES");
  sub->add_option("--vary", command->variations,
                  "the recipe's own model with each of the values of an option, KEY=VALUE,VALUE,...; may be "
                  "repeated; --models are then only those that are named")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUES");
  sub->add_option("--data", command->data, "data file or folder (data.path)")->type_name("PATH");
  CLI::Option* time = sub->add_option("--time", command->time, "time for each run: 90s, 20m, 2h")
                          ->capture_default_str()
                          ->type_name("TIME");
  sub->add_option("--updates", command->updates, "updates of each run, in place of a time")
      ->check(CLI::PositiveNumber)
      ->excludes(time);
  sub->add_option(
         "--tune", command->tune,
         "first look for the learning rate of each model on validation data, with runs of this time: "
         "the recipe's, half and twice of it, and further where the best is at an end")
      ->type_name("TIME");
  sub->add_option("--seeds", command->seeds, "repeat with these seeds: 1..3 or 1,2,7")
      ->capture_default_str()
      ->type_name("SEEDS");
  sub->add_option("--set", command->changes, "set any option of all models, key=value; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  sub->add_option(
         "--out", command->out,
         "folder of the runs and the report (default: runs/compare-RECIPE); a comparison that was "
         "stopped goes on, and models and seeds can be added to it: name all that the report shall show")
      ->type_name("DIR");
  sub->add_option("--threads", command->threads, "number of threads (default: all cores)")
      ->check(CLI::NonNegativeNumber);
  sub->callback([command, models] {
    if (!command->variations.empty() && models->count() == 0) command->models.clear();
    command->run();
  });
}

}  // namespace mega::cli
