#include "bench/scaling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mega/base/system/memory_limit.h"

namespace mega::bench {
namespace {

// Exponents are of lengths from here on: below, what does not depend on the length counts.
constexpr int64_t kFitFrom = 4096;

const std::vector<System>& scaling_systems() {
  static const std::vector<System> table = {{"transformer-plain", "lra-text-transformer", {}, true},
                                            {"transformer", "lra-text-transformer"},
                                            {"performer", "lra-text-performer"},
                                            {"s4-v2", "lra-text-s4"},
                                            {"mega", "lra-text"},
                                            {"mega-chunk", "lra-text-chunk"}};
  return table;
}

std::vector<int64_t> usual_lengths() {
  std::vector<int64_t> lengths;
  for (int64_t length = 1024; length <= 131072; length *= 2) lengths.push_back(length);
  return lengths;
}

LineChart chart(const char* title, const char* y_label) {
  LineChart result;
  result.title = title;
  result.x_label = "length in tokens";
  result.y_label = y_label;
  result.log_x = result.log_y = true;
  return result;
}

}  // namespace

double fitted_exponent(std::span<const Point> points) {
  if (points.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const Point& point : points) {
    const double a = std::log(point.x), b = std::log(point.y);
    x += a;
    y += b;
    xx += a * a;
    xy += a * b;
  }
  const auto n = static_cast<double>(points.size());
  return (n * xy - x * y) / (n * xx - x * x);
}

double expected_next(std::span<const double> values) {
  if (values.empty()) return 0.0;
  const double last = values.back(), before = values.size() < 2 ? last : values[values.size() - 2];
  return before > 0.0 ? last * last / before : last;
}

Results run_scaling(const SystemsSettings& settings) {
  std::vector<int64_t> lengths = settings.lengths.empty() ? usual_lengths() : settings.lengths;
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  const std::vector<System> systems = chosen(scaling_systems(), settings.only);
  // One length after the other, all systems of each.
  std::vector<Trial> trials;
  for (const int64_t length : lengths)
    for (const System& system : systems) {
      trials.push_back(trial_of(kStep, system, length, settings));
      trials.back().name += ", " + std::to_string(length);
    }
  RoundPlan plan = settings.plan("scaling");
  plan.worth = [&](size_t trial, const std::vector<Timing>& found) {
    const double most_seconds = settings.quick ? 5.0 : 30.0;
    const double most_mb = 0.7 * static_cast<double>(memory_limit()) / (1 << 20);
    std::vector<double> seconds, peaks;
    for (size_t i = trial % systems.size(); i < trial; i += systems.size()) {
      if (!found[i].measured()) return false;
      seconds.push_back(found[i].median_s);
      peaks.push_back(found[i].peak_mb);
    }
    return expected_next(seconds) <= most_seconds && expected_next(peaks) <= most_mb;
  };
  const std::vector<Timing> timings = measure_in_rounds(trials, plan);

  ResultTable rows({{"system", "system"},
                    {"length", "length"},
                    {"step", "median_seconds"},
                    {"± %", "spread"},
                    {"µs per token", "microseconds_per_token"},
                    {"peak MB", "peak_growth_mb"}}),
      exponents({{"system", "system"},
                 {"longest", "longest"},
                 {"time exponent", "time_exponent"},
                 {"memory exponent", "memory_exponent"}});
  LineChart times = chart("Time of a training step", "seconds"),
            memories = chart("Memory of a training step", "MB");
  for (size_t i = 0; i < systems.size(); ++i) {
    Curve time{systems[i].name, {}}, memory{systems[i].name, {}};
    std::vector<Point> long_time, long_memory;
    for (size_t j = 0; j < lengths.size(); ++j) {
      const Timing& timing = timings[j * systems.size() + i];
      if (!timing.measured()) break;
      const auto length = static_cast<double>(lengths[j]);
      const double tokens = length * static_cast<double>(settings.batch);
      rows.add({text_cell(systems[i].name), count_cell(lengths[j]), seconds_cell(timing.median_s),
                percent_cell(timing.spread), number_cell("%.1f", 1e6 * timing.median_s / tokens),
                number_cell("%.0f", timing.peak_mb)});
      time.points.push_back({length, timing.median_s});
      time.errors.push_back(timing.spread * timing.median_s);
      memory.points.push_back({length, timing.peak_mb});
      if (lengths[j] < kFitFrom) continue;
      long_time.push_back(time.points.back());
      long_memory.push_back(memory.points.back());
    }
    exponents.add({text_cell(systems[i].name),
                   count_cell(static_cast<int64_t>(time.points.empty() ? 0 : time.points.back().x)),
                   number_cell("%.2f", fitted_exponent(long_time)),
                   number_cell("%.2f", fitted_exponent(long_memory))});
    times.curves.push_back(std::move(time));
    memories.curves.push_back(std::move(memory));
  }
  return {{{"rows", rows}, {"exponents", exponents}},
          {{"scaling-time", times}, {"scaling-memory", memories}}};
}

}  // namespace mega::bench
