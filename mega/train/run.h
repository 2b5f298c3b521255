// A whole run from a recipe: data, model, estimate, training, test, report.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "mega/config/recipe/presets.h"
#include "mega/distributed/world.h"
#include "mega/train/linear_baseline.h"
#include "mega/train/tasks/task.h"
#include "mega/train/trainer.h"

namespace mega::train {

struct RunRequest {
  Recipe recipe;
  std::filesystem::path folder;  // the run directory
  bool resume = false;
  bool restart = false;        // replace the run that the folder holds
  bool estimate_only = false;  // print estimated memory and time, and stop
  std::string device = "cpu";
  std::string preset;            // that the recipe comes from, for the report; "": none
  std::vector<std::string> set;  // keys of the options that the user set: a time budget leaves them alone
  std::string command;           // for the report
  // The processes that train together; null: this one alone. All make the same request; the folder is rank
  // 0's.
  distributed::World* world = nullptr;
};

struct RunResult {
  Outcome outcome;
  Scores test;  // scores of the best model; empty without test examples
  int64_t parameters = 0;
  std::vector<BaselineScores> baselines;
};

// Prints to standard error; also writes recipe.json and result.json to the run directory.
RunResult run(const RunRequest& request);

// The recipe of an existing run, for resuming it.
Recipe load_run_recipe(const std::filesystem::path& folder);
bool holds_a_run(const std::filesystem::path& folder);

torch::Device parse_device(const std::string& name);

}  // namespace mega::train
