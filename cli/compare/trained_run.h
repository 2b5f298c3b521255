// What a finished run has to say, read from its folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "mega/report/chart.h"

namespace mega::cli {

// Where there is no score: no such examples, or a run that failed.
constexpr double kNoScore = std::numeric_limits<double>::quiet_NaN();

struct TrainedRun {
  int64_t parameters = 0, updates = 0, peak_memory = 0;
  double seconds = 0.0;               // of training
  double positions_per_second = 0.0;  // the median over the run
  std::string metric;                 // that the model was selected by: "accuracy"
  bool higher_is_better = true;
  double valid = kNoScore, test = kNoScore;  // of that metric
  double test_ci95 = 0.0;                    // half of the interval; 0: unknown
  double valid_loss = kNoScore;              // without a loss: the metric, so that less is better
  std::vector<Point> by_update, by_seconds;  // the metric on validation examples as the run went on

  double score() const;  // on test examples, or else on validation examples
};

bool is_finished(const std::filesystem::path& folder);

// An Error that names the file if one is missing or damaged.
TrainedRun read_trained_run(const std::filesystem::path& folder);

// Whether a is the better value of a metric; kNoScore never is.
bool better(double a, double b, bool higher_is_better);

}  // namespace mega::cli
