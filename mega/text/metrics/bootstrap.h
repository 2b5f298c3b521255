// Whether one system is better than another, or only luckier with the sentences of the test set: paired
// bootstrap resampling (Koehn 2004). Test sets are drawn from the sentences there are, with repetition, the
// same for all systems, and each system is scored on each of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mega/text/metrics/metric.h"

namespace mega {

struct BootstrapOptions {
  int64_t samples = 1000;
  int64_t seed = 12345;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("samples", self.samples, "number of test sets drawn for --compare", Range{10, 1e6});
    v.field("seed", self.seed, "seed of the random draws", Range{0, 9e15});
  }
};

struct BootstrapResult {
  double score = 0;  // on the test set itself
  double mean = 0;   // over the samples
  double ci95 = 0;   // half of the interval that 95 % of the samples are in
  // How probable so large a difference to the first system is if both are equally good: the share of samples
  // whose difference exceeds the mean of the samples' by more than the difference on the test set, as
  // sacreBLEU counts. None for the first system.
  std::optional<double> p_value;
};

// `systems[s]` has the statistics of each sentence (corpus_statistics), for all the same number of sentences.
// The first is what the others are compared with. Same seed, same result.
std::vector<BootstrapResult> paired_bootstrap(const Metric& metric,
                                              std::span<const std::vector<Statistics>> systems,
                                              const BootstrapOptions& options);

}  // namespace mega
