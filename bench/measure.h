// Measuring side by side: every row is timed in turn, round after round, so that a noisy machine is noisy for
// all.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mega::bench {

// What is measured: a name and a form ("fused", "reference", "sgemm"), and the work one run does.
struct Candidate {
  std::string name;
  std::string form;
  std::function<void()> run;
  double flops = 0.0;     // of the model, by the formula of docs/performance.md
  double tokens = 0.0;    // 0 where tokens make no sense
  double channels = 0.0;  // > 0: also report nanoseconds per token and channel
};

struct Row {
  std::string name, form;
  double median_s = 0.0, spread = 0.0;  // spread: half the range of the middle half, relative
  double tokens_per_s = 0.0, share_of_sgemm = 0.0, flops = 0.0, channels = 0.0;
  double peak_growth_mb = -1.0;  // < 0: not measured
};

// Medians over rounds, after one round that is not counted. The share is that of the row whose form is sgemm.
std::vector<Row> measure(const std::vector<Candidate>& candidates, int repeats);

// The yardstick: 1024^3 float32 products by the BLAS that libtorch uses.
Candidate sgemm();

// Resident size of this process now, in MB.
double resident_mb();

// Highest resident size while `run` runs minus resident size before, in MB. For a process that does nothing
// else.
double peak_growth_mb(const std::function<void()>& run);

// The same for another run of this program with these arguments, which prints the number.
double child_peak_growth_mb(const std::vector<std::string>& arguments);

}  // namespace mega::bench
