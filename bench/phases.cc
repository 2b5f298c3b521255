#include "bench/phases.h"

#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "bench/measure.h"
#include "mega/base/options/options.h"
#include "mega/report/table.h"

namespace mega::bench {
namespace {

double page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_minflt);
}

// All rows alternately, so that noise of the machine affects all of them.
std::vector<PhaseRow> measure_phases(const std::vector<Candidate>& candidates, int repeats) {
  std::vector<PhaseRow> rows;
  for (const Candidate& candidate : candidates) rows.push_back({candidate.name, candidate.precision});
  for (int round = 0; round <= repeats; ++round) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      PhaseRow& row = rows[i];
      const double faults = page_faults();
      ops::PhaseClock clock;
      const double seconds = seconds_of(candidates[i].run);
      if (round == 0) continue;  // warm-up
      const ops::PhaseTimes times = clock.times();
      for (size_t k = 0; k < ops::kPhases; ++k) row.times.seconds[k] += times.seconds[k] / repeats;
      row.times.waiting += times.waiting / repeats;
      row.seconds += seconds / repeats;
      row.page_faults += (page_faults() - faults) / repeats;
    }
  }
  return rows;
}

}  // namespace

PhaseTable run_phases(const Settings& settings) {
  Settings fused = settings;
  fused.forms = {"fused"};
  return {measure_phases(make_rows(fused), settings.repeats)};
}

std::string PhaseTable::markdown() const {
  std::vector<std::string> header = {"ms"};
  for (const PhaseRow& row : rows) header.push_back(row.name + ", " + row.precision);
  Table table(header);
  const auto add = [&](std::string name, const auto& value) {
    std::vector<std::string> cells = {std::move(name)};
    for (const PhaseRow& row : rows) cells.push_back(number("%.1f", value(row)));
    table.add(cells);
  };
  for (size_t k = 0; k < ops::kPhases; ++k)
    add(std::string(to_string(static_cast<ops::Phase>(k))),
        [&](const PhaseRow& row) { return 1e3 * row.times.seconds[k]; });
  add("all", [](const PhaseRow& row) { return 1e3 * row.seconds; });
  add("of that, threads that wait", [](const PhaseRow& row) { return 1e3 * row.times.waiting; });
  add("page faults", [](const PhaseRow& row) { return row.page_faults; });
  return table.markdown();
}

std::string PhaseTable::json() const {
  auto list = nlohmann::ordered_json::array();
  for (const PhaseRow& row : rows) {
    auto phases = nlohmann::ordered_json::object();
    for (size_t k = 0; k < ops::kPhases; ++k)
      phases[std::string(to_string(static_cast<ops::Phase>(k)))] = row.times.seconds[k];
    list.push_back({{"name", row.name},
                    {"precision", row.precision},
                    {"seconds", row.seconds},
                    {"phases", phases},
                    {"waiting", row.times.waiting},
                    {"page_faults", row.page_faults}});
  }
  return list.dump(2) + "\n";
}

}  // namespace mega::bench
