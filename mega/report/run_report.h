// The report of a training run: one HTML page with metrics, curves, errors, examples and settings.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mega/report/chart.h"
#include "mega/report/table.h"
#include "mega/report/thumbnail.h"

namespace mega {

struct OptionRow;

struct Report {
  std::string title;        // the run's name
  std::string description;  // what it trains, in the words of its preset
  std::string command, started;
  double seconds = 0;
  std::vector<std::pair<std::string, std::string>> summary;  // headline metrics: name, value

  // This run's model and simpler ones on the same examples. The best is marked, so that nobody uses a worse
  // model unknowingly.
  struct ScoreRow {
    std::string name;   // "bag of n-grams (linear)"
    std::string score;  // as shown: "84.1 %"
    double value = 0;   // the same as a number; not finite: unknown
    bool own = false;   // this run's model
  };
  struct Comparison {
    std::string metric;  // "test accuracy"
    bool higher_is_better = true;
    std::vector<ScoreRow> rows;  // in any order; left out if all are the run's own
  };
  Comparison comparison;

  std::vector<std::pair<std::string, Table>> tables;  // with their headings

  std::vector<std::string> notes;  // warnings of the run
  std::vector<LineChart> charts;   // loss, accuracy, learning rate, ...

  // What a language model wrote as it learnt, in any order.
  struct Sample {
    int64_t update = 0;
    std::string prompt, text;  // without the prompt
  };
  std::vector<Sample> samples;

  std::vector<ScatterChart> predictions;  // of a regression: one per output

  std::vector<std::string> classes;
  std::vector<std::vector<int64_t>> confusion;  // [truth][predicted]

  // One example. Of what it is, the fields that apply are set, and the page shows them.
  struct ExampleRow {
    std::string where, excerpt, truth, predicted;  // excerpt: of a text, its beginning
    double probability = 0, loss = 0;              // probability of what was predicted; 0: none, a regression
    int64_t length = 0;                            // 0: all have the same
    std::string facts = {};                        // "1.25 s at 16,000 Hz", "640 × 480 pixels"
    std::vector<std::vector<float>> series = {};   // of a series or a sound, [channel][position]
    Thumbnail picture = {};                        // any size: shrunk if large
  };
  std::vector<ExampleRow> worst, longest;

  // Pictures of one class that were taken for another's.
  struct ConfusedClasses {
    std::string truth, predicted;
    int64_t count = 0;
    double share = 0;                  // of the true class
    std::vector<ExampleRow> examples;  // some of them, the worst first
  };
  std::vector<ConfusedClasses> confused;  // the most frequent first

  std::vector<std::vector<double>> decay;  // per layer: EMA half-lives, in positions

  std::string preset;  // its name; "": none
  struct Setting {
    std::string key, value;
    std::string preset_value = {};  // shown if it differs
    bool differs = false;           // from the preset
  };
  std::vector<Setting> configuration;
};

// One self-contained page. Sections without data are left out; all text is escaped.
std::string to_html(const Report& report);

// The options of a run beside those of its preset; without a preset, pass {}.
std::vector<Report::Setting> compare_settings(const std::vector<OptionRow>& used,
                                              const std::vector<OptionRow>& preset);

struct ClassMetrics {
  int64_t count = 0;                         // examples of the class
  double precision = 0, recall = 0, f1 = 0;  // 0 if the class has no predictions or no examples
};
std::vector<ClassMetrics> class_metrics(const std::vector<std::vector<int64_t>>& confusion);

// Examples of one class that were taken for another.
struct Confusion {
  size_t truth = 0, predicted = 0;
  int64_t count = 0;
};
// Those that occur, the most frequent first, `most` at most.
std::vector<Confusion> most_confused(const std::vector<std::vector<int64_t>>& confusion, size_t most);

}  // namespace mega
