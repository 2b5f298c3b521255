// A short search for the learning rate of a model: the recipe's own, half and twice of it, and further out as
// long as the best one lies at an end of what was tried. So no model is compared at a rate that was clearly
// too low or too high for it. The best has the least loss: after a short run, accuracy on the few examples
// that there is time for says little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mega::cli {

struct TriedRate {
  double rate = 0.0;
  double loss = 0.0;    // on validation examples; kNoScore: training failed
  int64_t updates = 0;  // that the run made
};

// After fewer updates, models are so near to where they began that their losses say little about the rates.
constexpr int64_t kFewUpdates = 50;

std::string rate_text(double rate);  // "0.004"

constexpr size_t kFewestRates = 3, kMostRates = 6;

// The rate to try next; nullopt: enough.
std::optional<double> next_rate(double recipe_rate, const std::vector<TriedRate>& tried);

// The best of those tried, of equal ones the first. Not of an empty list.
TriedRate best_rate(const std::vector<TriedRate>& tried);

}  // namespace mega::cli
