// What a training run leaves behind for people: one page with its figures, curves, errors and settings.
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
  std::vector<std::pair<std::string, std::string>> summary;        // headline figures: what, value
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

  std::vector<std::vector<double>> decay;  // per layer: the half lives of its moving average, in positions
  std::vector<std::string> notes;          // warnings that were said
};

// One self-contained page. Parts without data are left out; any text in the report is safe.
std::string to_html(const Report& report);

struct ClassFigures {
  int64_t count = 0;                         // examples that are of the class
  double precision = 0, recall = 0, f1 = 0;  // 0 where nothing was predicted, or nothing is of the class
};
std::vector<ClassFigures> class_figures(const std::vector<std::vector<int64_t>>& confusion);

}  // namespace mega
