#include "bench/rounds.h"

#include <algorithm>
#include <chrono>
#include <sstream>

#include "bench/measure.h"
#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/report/progress.h"

namespace mega::bench {
namespace {

Sample run(const Trial& trial) {
  std::istringstream output(child_output(trial.arguments));
  Sample sample;
  require(static_cast<bool>(output >> sample.seconds >> sample.peak_mb), "the process that measures ",
          trial.name, " said nothing; its arguments: ", join(trial.arguments, " "));
  return sample;
}

}  // namespace

std::string Sample::text() const { return number("%.6f", seconds) + number(" %.3f", peak_mb); }

Timing summarize(const std::vector<Sample>& samples) {
  if (samples.empty()) return {};
  std::vector<double> seconds, peaks;
  for (const Sample& sample : samples) {
    seconds.push_back(sample.seconds);
    peaks.push_back(sample.peak_mb);
  }
  return {median(seconds), spread(seconds), median(peaks)};
}

std::vector<Timing> measure_in_rounds(const std::vector<Trial>& trials, const RoundPlan& plan) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  std::vector<std::vector<Sample>> samples(trials.size());
  std::vector<Timing> timings(trials.size());
  Progress progress(plan.title, std::ssize(trials) * plan.rounds, "runs");
  int64_t done = 0;
  for (int round = 0; round < plan.rounds; ++round) {
    const double begin = elapsed();
    for (size_t i = 0; i < trials.size(); ++i) {
      const bool wanted =
          round == 0 ? !plan.worth || plan.worth(i, timings) : timings[i].measured();  // as in the first
      try {
        if (wanted) {
          samples[i].push_back(run(trials[i]));
          timings[i] = summarize(samples[i]);
        }
      } catch (const Error& error) {
        if (!plan.worth) throw;
        progress.say(trials[i].name + " is left out: " + error.what());
        samples[i].clear();
        timings[i] = {};
      }
      progress.update(++done, {trials[i].name});
    }
    const double took = elapsed() - begin;
    if (plan.budget_s > 0.0 && elapsed() + took > plan.budget_s) break;
  }
  require(std::any_of(timings.begin(), timings.end(), [](const Timing& timing) { return timing.measured(); }),
          plan.title, ": nothing could be measured");
  return timings;
}

Sample measure_here(const std::function<void()>& work) {
  constexpr size_t kMost = 5;
  constexpr double kEnoughSeconds = 1.0;
  const double peak = peak_growth_mb(work);
  std::vector<double> seconds;
  double sum = 0.0;
  while (seconds.size() < kMost && (seconds.empty() || sum < kEnoughSeconds)) {
    seconds.push_back(seconds_of(work));
    sum += seconds.back();
  }
  return {median(seconds), peak};
}

}  // namespace mega::bench
