// What an evaluation measures.
#pragma once

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
std::string metric_text(const Metric& metric);  // "accuracy 81.2 % ± 0.5"

// The first metric is used for model selection.
struct Scores {
  std::vector<Metric> metrics;
  bool higher_is_better = true;

  bool better_than(const Scores& other) const;
};

}  // namespace mega::train
