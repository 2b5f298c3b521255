#include "mega/train/time_budget.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mega::train {
namespace {

// Of the budget, at most: one evaluation, and the test.
constexpr double kEvaluationShare = 0.01, kTestShare = 0.1;
constexpr double kReport = 0.5;  // seconds for the last files

}  // namespace

TimeBudget::TimeBudget(double seconds, std::function<double()> used, const UpdateCost& update,
                       const EvaluationSizes& sizes)
    : seconds_(seconds),
      used_(std::move(used)),
      first_(update),
      sizes_(sizes),
      update_seconds_(update.seconds) {
  // Forward is a third of forward and backward.
  const double forward = std::max(update.seconds / std::max(1.0, update.count) / 3.0, 1e-12);
  valid_ = at_least(static_cast<int64_t>(std::min(1e15, kEvaluationShare * seconds / forward)), sizes.valid);
  evaluation_seconds_ = forward * static_cast<double>(valid_);
}

void TimeBudget::add_update(double seconds) {
  constexpr double kMemory = 10.0;  // seconds
  if (update_seconds_ <= 0.0) update_seconds_ = seconds;
  update_seconds_ += (1.0 - std::exp(-seconds / kMemory)) * (seconds - update_seconds_);
}

void TimeBudget::add_evaluation(double seconds) { evaluation_seconds_ = seconds; }

int64_t TimeBudget::updates_left(double period) const {
  const double test = std::min(seconds_per_item() * static_cast<double>(sizes_.test), kTestShare * seconds_);
  const double left = seconds_ - used() - evaluation_seconds_ - test - kReport;
  if (left <= 0.0) return 0;
  if (update_seconds_ <= 0.0) return 1;  // not known yet: one update will tell
  const double evaluating = period > 0.0 ? evaluation_seconds_ / period : 0.0;  // per second of updates
  return static_cast<int64_t>(left / (1.0 + evaluating) / update_seconds_);
}

int64_t TimeBudget::test_limit() const {
  const double left = std::max(0.0, seconds_ - used() - kReport);
  return at_least(static_cast<int64_t>(std::min(1e15, left / seconds_per_item())), sizes_.test);
}

double TimeBudget::seconds_per_item() const {
  return std::max(evaluation_seconds_ / static_cast<double>(std::max<int64_t>(1, valid_)), 1e-12);
}

// However short the time, an evaluation reads enough to say something.
int64_t TimeBudget::at_least(int64_t fits, int64_t all) const {
  constexpr double kUpdates = 4.0;
  const auto fewest = std::max<int64_t>(100, static_cast<int64_t>(kUpdates * first_.count));
  return std::min(all, std::max(fits, fewest));
}

}  // namespace mega::train
