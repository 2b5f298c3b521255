// The axis of a chart: positions of values, and round tick labels.
#pragma once

#include <string>
#include <vector>

namespace mega {

struct Tick {
  double value;
  std::string label;
};

struct Axis {
  double low = 0, high = 1;
  bool log = false;
  std::vector<Tick> ticks;

  // 0 at `low`, 1 at `high`.
  double place(double value) const;
};

// Whether a value can be drawn at all: finite, not absurdly large, and above 0 on a logarithmic axis.
bool drawable(double value, bool log);

// An axis for drawable values from `low` to `high`, which may be equal, with about `wanted` ticks. `rounded`:
// start and end at a tick.
Axis make_axis(double low, double high, bool log, int wanted, bool rounded);

// A number for a label, rounded to multiples of `step`: 20000 -> "20k", 0.00002 -> "2e-5".
std::string tick_label(double value, double step);

}  // namespace mega
