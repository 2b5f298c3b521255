// Measures systems each in a process of its own, one after the other, round after round: noise of the machine
// affects all of them, and none finds memory or caches as another has left them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace mega::bench {

struct Trial {
  std::string name;                    // for progress and errors
  std::vector<std::string> arguments;  // of this program; its output is a Sample
};

// What a process of a trial prints, "seconds megabytes": time of the work and growth of peak memory.
struct Sample {
  double seconds = 0.0, peak_mb = 0.0;

  std::string text() const;
};

struct Timing {
  double median_s = 0.0;
  double spread = 0.0;   // NaN of a single round
  double peak_mb = 0.0;  // median

  bool measured() const { return median_s > 0.0; }
};

// How often, and what.
struct RoundPlan {
  std::string title;
  int rounds = 7;
  double budget_s = 0.0;  // > 0: no further round that would not end by then; the first is always made
  // Asked in the first round, with what it has found so far, whether to measure a trial at all; one that
  // fails is left out. Empty: all are measured, and a failure is an Error.
  std::function<bool(size_t trial, const std::vector<Timing>& found)> worth = {};
};

// Of each trial; of one that is left out, not measured(). An Error if that is so of all.
std::vector<Timing> measure_in_rounds(const std::vector<Trial>& trials, const RoundPlan& plan);

Timing summarize(const std::vector<Sample>& samples);

// Of `mega bench --quick`: rounds, and the time that they may take.
constexpr int kQuickRounds = 2;
constexpr double kQuickSeconds = 150.0;

// In the process of a trial: the peak of one run, then the median time of up to five, or as many as make a
// second.
Sample measure_here(const std::function<void()>& work);

}  // namespace mega::bench
