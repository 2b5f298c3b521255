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
  bool estimate_only = false;  // say what the run would cost, and stop
  std::string device = "cpu";
  double seconds = 0.0;  // > 0: as many updates as fit into this time, measured beforehand
  std::string command;   // for the report
};

struct RunResult {
  Outcome outcome;
  Scores test;  // of the best model; empty where there are no test examples
  int64_t parameters = 0;
};

// Everything is said on standard error; the run directory also gets recipe.json and result.json.
RunResult run(const RunRequest& request);

// The recipe of a run that was begun: what resuming it needs.
Recipe load_run_recipe(const std::filesystem::path& folder);
bool holds_a_run(const std::filesystem::path& folder);

torch::Device parse_device(const std::string& name);

}  // namespace mega::train
