// Output of `bleu`: scores of a system, of its sentences, and systems side by side; as text and as JSON.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mega/text/metrics/bootstrap.h"
#include "mega/text/metrics/metric.h"

namespace mega::cli {

struct ScoredSystem {
  std::string name;
  std::vector<std::vector<Statistics>> statistics;  // by metric and line
};

// The first system is what the others are compared with.
struct ScoredTranslations {
  std::vector<std::string> references;  // names of files
  size_t lines = 0;
  std::vector<std::unique_ptr<Metric>> metrics;
  std::vector<ScoredSystem> systems;
};

struct ScoreFormat {
  bool json = false;
  bool multi_bleu = false;  // print the line that multi-bleu.perl prints
  int width = 2;            // digits after the point
};

// A line per metric.
void print_scores(const ScoredTranslations& scored, const ScoreFormat& format);

// A line per sentence.
void print_sentence_scores(const ScoredTranslations& scored, const ScoreFormat& format);

void print_comparison(const ScoredTranslations& scored, const BootstrapOptions& options,
                      const ScoreFormat& format);

}  // namespace mega::cli
