// A whole run from a recipe: data, model, estimate, training, test, report.
#pragma once

#include <filesystem>
#include <string>

#include "mega/config/presets.h"
#include "mega/train/task.h"
#include "mega/train/trainer.h"

namespace mega::train {

struct RunRequest {
  Recipe recipe;
  std::filesystem::path folder;  // the run directory
  bool resume = false;
  bool estimate_only = false;  // print estimated memory and time, and stop
  std::string device = "cpu";
  double seconds = 0.0;  // > 0: set the number of updates to fit this time, by measuring an update
  std::string command;   // for the report
};

struct RunResult {
  Outcome outcome;
  Scores test;  // scores of the best model; empty without test examples
  int64_t parameters = 0;
};

// Prints to standard error; also writes recipe.json and result.json to the run directory.
RunResult run(const RunRequest& request);

// The recipe of an existing run, for resuming it.
Recipe load_run_recipe(const std::filesystem::path& folder);
bool holds_a_run(const std::filesystem::path& folder);

torch::Device parse_device(const std::string& name);

}  // namespace mega::train
