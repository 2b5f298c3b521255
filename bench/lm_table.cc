#include "bench/lm_table.h"

#include <algorithm>
#include <cmath>

#include "bench/measure.h"
#include "mega/config/parameter_count.h"

namespace mega::bench {

// As the paper tests them: Mega in chunks of 2048 and 4096, Transformers with a sliding window or a memory.
// The first is what all others are compared with: it keeps the scores of all pairs, as the paper's program
// does.
std::vector<System> lm_systems(bool quick) {
  std::vector<System> table = {{"transformer-adaptive-plain", "wikitext103-transformer", {}, true, "5600"},
                               {"transformer-adaptive", "wikitext103-transformer"},
                               {"transformer-xl", "wikitext103-transformer-xl"},
                               {"s4", "wikitext103-s4"},
                               {"mega", "wikitext103", {"model.block.chunk=2048"}, false, "48000"},
                               {"enwik8-transformer-xl", "enwik8-transformer-xl"},
                               {"enwik8-mega", "enwik8", {"model.block.chunk=4096"}}};
  if (quick)
    for (System& system : table) system.changes.emplace_back("model.layers=2");
  return table;
}

Results run_lm_table(const SystemsSettings& settings) {
  const int64_t length = settings.one_length(4096);
  const std::vector<System> all = lm_systems(settings.quick), systems = chosen(all, settings.only);
  std::vector<Trial> trials;
  for (const System& system : systems) trials.push_back(trial_of(kScore, system, length, settings));
  const std::vector<Timing> timings = measure_in_rounds(trials, settings.plan("lm-table"));
  const auto base = std::find_if(systems.begin(), systems.end(),
                                 [&](const System& system) { return system.name == all.front().name; });
  const Timing plain =
      base == systems.end() ? Timing{} : timings[static_cast<size_t>(base - systems.begin())];
  const double paper_plain = std::stod(all.front().paper_speed);

  ResultTable table({{"system", "system"},
                     {"parameters", "parameters"},
                     {"tokens/s", "tokens_per_second"},
                     {"± %", "spread"},
                     {"peak MB", "peak_growth_mb"},
                     {"speed", "speed"},
                     {"paper: tokens/s", "paper_tokens_per_second"},
                     {"paper: speed", "paper_speed"}});
  for (size_t i = 0; i < systems.size(); ++i) {
    const Timing& timing = timings[i];
    const std::string paper = systems[i].paper_speed;
    const bool same_data = systems[i].preset.starts_with("wikitext103");
    table.add(
        {text_cell(systems[i].name), count_cell(count_parameters(recipe_of(systems[i], length).model).total),
         count_cell(std::llround(1.0 / timing.median_s)), percent_cell(timing.spread),
         number_cell("%.0f", timing.peak_mb), ratio_cell(same_data ? plain.median_s / timing.median_s : 0.0),
         paper.empty() ? ResultCell{} : count_cell(std::stoll(paper)),
         paper.empty() ? ResultCell{} : ratio_cell(std::stod(paper) / paper_plain)});
  }
  return {{{"rows", table}}, {}};
}

}  // namespace mega::bench
