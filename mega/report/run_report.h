// The report of a training run: one HTML page with metrics, curves, errors and settings.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mega/report/chart.h"

namespace mega {

struct Report {
  std::string title, command, started;
  double seconds = 0;
  std::vector<std::pair<std::string, std::string>> summary;        // headline metrics: name, value
  std::vector<std::pair<std::string, std::string>> configuration;  // key, value
  std::vector<LineChart> charts;                                   // loss, accuracy, learning rate, ...

  std::vector<std::string> classes;
  std::vector<std::vector<int64_t>> confusion;  // [truth][predicted]

  struct ExampleRow {
    std::string where, excerpt, truth, predicted;
    double probability = 0, loss = 0;
    int64_t length = 0;
  };
  std::vector<ExampleRow> worst, longest;

  std::vector<std::vector<double>> decay;  // per layer: EMA half-lives, in positions
  std::vector<std::string> notes;          // warnings of the run
};

// One self-contained page. Sections without data are left out; all text is escaped.
std::string to_html(const Report& report);

struct ClassMetrics {
  int64_t count = 0;                         // examples of the class
  double precision = 0, recall = 0, f1 = 0;  // 0 if the class has no predictions or no examples
};
std::vector<ClassMetrics> class_metrics(const std::vector<std::vector<int64_t>>& confusion);

}  // namespace mega
