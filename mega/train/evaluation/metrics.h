// What an evaluation measures.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace mega::train {

// One metric of an evaluation: accuracy, loss, ...
struct Metric {
  std::string name;
  double value = 0.0;
  double uncertainty = 0.0;  // half of the 95 % confidence interval; 0: unknown
  bool share = false;        // shown in per cent
};
std::string metric_text(const Metric& metric);    // "accuracy 81.2 % ± 0.5"
std::string metric_key(const std::string& name);  // in JSON: "macro_f1" of "macro-F1", "r2" of "R²"

// The first metric is used for model selection.
struct Scores {
  std::vector<Metric> metrics;
  bool higher_is_better = true;

  bool better_than(const Scores& other) const;
};

// {"accuracy": 0.812, "accuracy_ci95": 0.005, ...}
nlohmann::ordered_json to_json(const Scores& scores);

}  // namespace mega::train
