#include "cli/compare/rate_search.h"

#include <algorithm>
#include <cstdio>

#include "cli/compare/trained_run.h"

namespace mega::cli {

std::string rate_text(double rate) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", rate);
  return text;
}

TriedRate best_rate(const std::vector<TriedRate>& tried) {
  return *std::min_element(tried.begin(), tried.end(), [](const TriedRate& a, const TriedRate& b) {
    return better(a.loss, b.loss, /*higher_is_better=*/false);
  });
}

std::optional<double> next_rate(double recipe_rate, const std::vector<TriedRate>& tried) {
  constexpr double kFirst[kFewestRates] = {1.0, 0.5, 2.0};
  if (tried.size() < kFewestRates) return recipe_rate * kFirst[tried.size()];
  if (tried.size() >= kMostRates) return std::nullopt;
  const auto [lowest, highest] = std::minmax_element(
      tried.begin(), tried.end(), [](const TriedRate& a, const TriedRate& b) { return a.rate < b.rate; });
  const double best = best_rate(tried).rate;
  if (best == lowest->rate) return best * 0.5;
  if (best == highest->rate) return best * 2.0;
  return std::nullopt;
}

}  // namespace mega::cli
