// A run that has to end in time (train.time): how many updates fit, and how much an evaluation may read. What
// things take is measured all the time, so that a machine that becomes busy, or idle, changes the plan.
#pragma once

#include <cstdint>
#include <functional>

namespace mega::train {

// How much an evaluation and the test read, in examples or tokens.
struct EvaluationSizes {
  int64_t valid = 0, test = 0;
};

struct UpdateCost {
  double seconds = 0.0;
  double count = 0.0;  // examples or tokens
};

class TimeBudget {
 public:
  // `used`: seconds since the run began, in all its sessions. `update`: measured before
  // the first update. `sizes`: all there is to evaluate.
  TimeBudget(double seconds, std::function<double()> used, const UpdateCost& update,
             const EvaluationSizes& sizes);

  double used() const { return used_(); }

  void add_update(double seconds);
  void add_evaluation(double seconds);

  double update_seconds() const { return update_seconds_; }  // the mean of recent updates
  // Updates that fit into what is left, if an evaluation follows every `period` seconds of updates (0: none
  // but the last).
  int64_t updates_left(double period) const;

  // How much an evaluation reads, so that all of them leave most of the time for training.
  int64_t valid_limit() const { return valid_; }
  // How much the test may read now: what fits into what is left.
  int64_t test_limit() const;

 private:
  int64_t at_least(int64_t fits, int64_t all) const;
  double seconds_per_item() const;

  double seconds_;
  std::function<double()> used_;
  UpdateCost first_;
  EvaluationSizes sizes_;
  double update_seconds_;
  int64_t valid_ = 0;
  double evaluation_seconds_ = 0.0;  // of the last evaluation; a guess before the first
};

}  // namespace mega::train
