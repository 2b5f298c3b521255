// Models that were trained on the same data for the same time, side by side: the tables and the report of
// `mega compare`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/compare/rate_search.h"
#include "cli/compare/trained_run.h"
#include "mega/report/table.h"

namespace mega::cli {

struct ComparedRun {
  int64_t seed = 0;
  std::filesystem::path folder;
  std::optional<TrainedRun> result;  // nullopt: it failed, or has not been made yet
};

struct ComparedModel {
  std::string name;
  double learning_rate = 0.0;
  std::vector<TriedRate> rates;  // what the search for it found; empty: it was not searched for
  std::vector<ComparedRun> runs;

  // Of the runs that have a result; nullptr: none has.
  const TrainedRun* any_result() const;
};

struct Comparison {
  std::string recipe, description, command, budget;  // budget: "20m", "500 updates"
  std::vector<ComparedModel> models;

  // Of the first result; nullptr: there is none.
  const TrainedRun* any_result() const;
  // A row per model, the best first, those without a result last.
  Table table() const;
  // What the searches for learning rates found; empty without any.
  Table rates() const;
  // Of the validation score, by name: over-time, of each model's first run, and over-updates, with the
  // deviation over seeds. Empty without a result.
  std::vector<std::pair<std::string, LineChart>> charts() const;
  nlohmann::ordered_json json() const;
  std::string markdown() const;
  std::string html() const;
};

}  // namespace mega::cli
