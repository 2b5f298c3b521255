#include "bench/table2.h"

#include <algorithm>
#include <cmath>

#include "mega/config/parameter_count.h"

namespace mega::bench {

// A Transformer is there in the plain form that the paper measured, too.
const std::vector<System>& table2_systems() {
  static const std::vector<System> table = {{"transformer-plain", "lra-text-transformer", {}, true, "1", "1"},
                                            {"transformer", "lra-text-transformer"},
                                            {"reformer", "lra-text-reformer", {}, false, "0.8", "0.24"},
                                            {"reformer-article", "lra-text-reformer", {"model.form=article"}},
                                            {"linformer", "lra-text-linformer", {}, false, "5.5", "0.10"},
                                            {"bigbird", "lra-text-bigbird", {}, false, "1.1", "0.30"},
                                            {"performer", "lra-text-performer", {}, false, "5.7", "0.11"},
                                            {"performer-favor", "lra-text-performer", {"model.kernel=favor"}},
                                            {"luna", "lra-text-luna", {}, false, "4.9", "0.16"},
                                            {"s4-v1", "lra-text-s4-v1"},
                                            {"s4-v2", "lra-text-s4", {}, false, "4.8", "0.14"},
                                            {"s4d", "lra-text-s4d"},
                                            {"flash-quad", "lra-text-flash"},
                                            {"flash-mixed", "lra-text-flash", {"model.form=mixed"}},
                                            {"mega", "lra-text", {}, false, "2.9", "0.31"},
                                            {"mega-chunk", "lra-text-chunk", {}, false, "5.5", "0.13"}};
  return table;
}

Results run_table2(const SystemsSettings& settings) {
  const int64_t length = settings.one_length(4000);
  const std::vector<System> systems = chosen(table2_systems(), settings.only);
  std::vector<Trial> trials;
  for (const System& system : systems) trials.push_back(trial_of(kStep, system, length, settings));
  const std::vector<Timing> timings = measure_in_rounds(trials, settings.plan("table2"));
  const auto base = std::find_if(systems.begin(), systems.end(), [](const System& system) {
    return system.name == table2_systems().front().name;
  });
  const Timing plain =
      base == systems.end() ? Timing{} : timings[static_cast<size_t>(base - systems.begin())];

  ResultTable table({{"system", "system"},
                     {"parameters", "parameters"},
                     {"step", "median_seconds"},
                     {"± %", "spread"},
                     {"tokens/s", "tokens_per_second"},
                     {"peak MB", "peak_growth_mb"},
                     {"speed", "speed"},
                     {"memory", "memory"},
                     {"paper: speed", "paper_speed"},
                     {"paper: memory", "paper_memory"}});
  for (size_t i = 0; i < systems.size(); ++i) {
    const Timing& timing = timings[i];
    const double tokens = static_cast<double>(settings.batch * length) / timing.median_s;
    table.add({text_cell(systems[i].name),
               count_cell(count_parameters(recipe_of(systems[i], length).model).total),
               seconds_cell(timing.median_s), percent_cell(timing.spread), count_cell(std::llround(tokens)),
               number_cell("%.0f", timing.peak_mb), ratio_cell(plain.median_s / timing.median_s),
               ratio_cell(plain.measured() ? timing.peak_mb / plain.peak_mb : 0.0),
               quoted_ratio(systems[i].paper_speed), quoted_ratio(systems[i].paper_memory)});
  }
  return {{{"rows", table}}, {}};
}

}  // namespace mega::bench
