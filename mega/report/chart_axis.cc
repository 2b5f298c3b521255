#include "mega/report/chart_axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace mega {
namespace {

constexpr double kLargest = 1e100;    // larger differences and products would overflow
constexpr double kSmallest = 1e-100;  // treated as 0
constexpr int kMostTicks = 24;

// The smallest of 1, 2 and 5 times a power of ten that is >= least.
double round_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

void add_linear_ticks(Axis& axis, int wanted, bool rounded) {
  const double step = round_step((axis.high - axis.low) / wanted);
  if (rounded) {
    axis.low = std::floor(axis.low / step + 1e-9) * step;
    axis.high = std::ceil(axis.high / step - 1e-9) * step;
  }
  const double first = std::ceil(axis.low / step - 1e-9);
  for (int i = 0; i < kMostTicks; ++i) {
    const double value = (first + i) * step;
    if (value > axis.high + step * 1e-6) break;
    axis.ticks.push_back({value, tick_label(value, step)});
  }
}

void add_log_ticks(Axis& axis, int wanted) {
  const double decades = std::log10(axis.high / axis.low);
  const int stride = std::max(1, static_cast<int>(std::ceil(decades / wanted)));
  const std::vector<double> factors = decades < 3 ? std::vector<double>{1, 2, 5} : std::vector<double>{1};
  const int first = static_cast<int>(std::floor(std::log10(axis.low)));
  const int last = static_cast<int>(std::ceil(std::log10(axis.high)));
  for (int power = first; power <= last; power += stride) {
    for (const double factor : factors) {
      const double value = factor * std::pow(10.0, power);
      if (value < axis.low * (1 - 1e-9) || value > axis.high * (1 + 1e-9)) continue;
      axis.ticks.push_back({value, tick_label(value, value)});
    }
  }
}

}  // namespace

double Axis::place(double value) const {
  if (log) return std::log(value / low) / std::log(high / low);
  return (value - low) / (high - low);
}

bool drawable(double value, bool log) {
  return std::isfinite(value) && std::abs(value) <= kLargest && (!log || value >= kSmallest);
}

Axis make_axis(double low, double high, bool log, int wanted, bool rounded) {
  constexpr double kNarrow = 1e-9;  // relative: a smaller range is rounding error and has no tick inside
  const double size = std::max(std::abs(low), std::abs(high));
  if (high - low <= std::max(kNarrow * size, kSmallest)) {
    const double margin = log ? low / 4 : size > kSmallest ? size / 10 : 1;
    low -= margin;
    high += margin;
  }
  Axis axis{.low = low, .high = high, .log = log, .ticks = {}};
  constexpr double kLinearEnough = 4;  // with a smaller max / min, too few of 1, 2, 5 are in the range
  if (log && high / low >= kLinearEnough)
    add_log_ticks(axis, wanted);
  else
    add_linear_ticks(axis, wanted, rounded && !log);
  return axis;
}

std::string tick_label(double value, double step) {
  if (std::abs(value) < step * 1e-6) return "0";
  constexpr double kLeastStep = 0.99e-4;
  constexpr double kMost = 1e15;
  std::array<char, 32> text;
  const auto digits_below = [](double number, double unit) {
    return std::clamp(static_cast<int>(std::ceil(std::log10(number / unit) - 1e-9)), 0, 6);
  };
  if (step < kLeastStep || std::abs(value) >= kMost) {
    const double power = std::floor(std::log10(std::abs(value)) + 1e-9);
    const double unit = std::pow(10.0, power);
    std::snprintf(text.data(), text.size(), "%.*fe%d", digits_below(unit, step), value / unit,
                  static_cast<int>(power));
    return text.data();
  }
  struct Scale {
    double unit;
    const char* suffix;
  };
  constexpr std::array<Scale, 5> kScales = {Scale{1, ""}, Scale{1e3, "k"}, Scale{1e6, "M"}, Scale{1e9, "G"},
                                            Scale{1e12, "T"}};
  Scale scale = kScales[0];
  for (const Scale& larger : kScales)
    if (std::abs(value) >= larger.unit * (1 - 1e-9)) scale = larger;
  std::snprintf(text.data(), text.size(), "%.*f%s", digits_below(scale.unit, step), value / scale.unit,
                scale.suffix);
  return text.data();
}

}  // namespace mega
