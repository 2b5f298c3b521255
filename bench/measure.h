// Side-by-side measurements: all rows are timed alternately, round after round, so that noise of the machine
// affects all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mega::bench {

// What is measured: a name, a form ("fused", "reference", "sgemm"), and the work of one run.
struct Candidate {
  std::string name;
  std::string form;
  std::function<void()> run;
  double flops = 0.0;     // of the model, by the formula of docs/performance.md
  double tokens = 0.0;    // 0 if not applicable
  double channels = 0.0;  // > 0: also report nanoseconds per token and channel
  std::string precision = "f32";
};

struct Row {
  std::string name, form, precision;
  double median_s = 0.0, spread = 0.0;
  double tokens_per_s = 0.0, share_of_sgemm = 0.0, flops = 0.0, channels = 0.0;
  double peak_growth_mb = -1.0;  // < 0: not measured
};

// Medians over rounds, after one warm-up round. Shares are relative to the row whose form is sgemm.
std::vector<Row> measure(const std::vector<Candidate>& candidates, int repeats);

// The reference rate: 1024^3 float32 products with libtorch's BLAS.
Candidate sgemm();

double seconds_of(const std::function<void()>& work);
double median(const std::vector<double>& values);
// Half the interquartile range, relative to the median; NaN of a single value.
double spread(const std::vector<double>& values);

// For tables: `format` of printf, for one double.
std::string number(const char* format, double value);

// Current resident size of this process, in MB.
double resident_mb();

// Peak resident size while `run` runs minus the resident size before it, in MB. For a process that does
// nothing else.
double peak_growth_mb(const std::function<void()>& run);

// Runs this program with these arguments in a child process, and gives what it prints. An Error names the
// command.
std::string child_output(const std::vector<std::string>& arguments);

// Peak growth in such a process, which prints it.
double child_peak_growth_mb(const std::vector<std::string>& arguments);

}  // namespace mega::bench
