#include "mega/text/metrics/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mega/base/error.h"
#include "mega/base/random.h"

namespace mega {
namespace {

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Half of the distance between the ends of what is left without the smallest and the largest fortieth.
double half_interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t left_out = values.size() / 40;
  return (values[values.size() - 1 - left_out] - values[left_out]) / 2;
}

double p_value(const std::vector<double>& scores, const std::vector<double>& baseline, double difference) {
  std::vector<double> differences(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) differences[i] = std::abs(scores[i] - baseline[i]);
  const double mean = mean_of(differences);
  const auto further = std::count_if(differences.begin(), differences.end(),
                                     [&](double d) { return d - mean > std::abs(difference); });
  // One more on both sides, the test set itself: no number of samples proves that luck is impossible.
  return static_cast<double>(further + 1) / static_cast<double>(scores.size() + 1);
}

}  // namespace

std::vector<BootstrapResult> paired_bootstrap(const Metric& metric,
                                              std::span<const std::vector<Statistics>> systems,
                                              const BootstrapOptions& options) {
  check_ranges(options);
  require(!systems.empty() && !systems.front().empty(), "nothing to resample: no system, or no sentence");
  const size_t sentences = systems.front().size();
  for (const auto& system : systems)
    require(system.size() == sentences, "systems of ", sentences, " and ", system.size(),
            " sentences cannot be compared");

  std::vector<std::vector<double>> scores(systems.size());
  Random random(stream_seed(static_cast<uint64_t>(options.seed), "bootstrap"));
  std::vector<size_t> drawn(sentences);
  for (int64_t sample = 0; sample < options.samples; ++sample) {
    for (size_t& sentence : drawn)
      sentence = static_cast<size_t>(random.below(static_cast<int64_t>(sentences)));
    for (size_t s = 0; s < systems.size(); ++s) {
      Statistics sum;
      for (const size_t sentence : drawn) add(sum, systems[s][sentence]);
      scores[s].push_back(metric.score(sum));
    }
  }

  std::vector<BootstrapResult> results;
  for (size_t s = 0; s < systems.size(); ++s) {
    BootstrapResult result{
        metric.score(sum_of(systems[s])), mean_of(scores[s]), half_interval(scores[s]), {}};
    if (s > 0) result.p_value = p_value(scores[s], scores[0], result.score - results[0].score);
    results.push_back(result);
  }
  return results;
}

}  // namespace mega
