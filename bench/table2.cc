#include "bench/table2.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/measure.h"
#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/baselines/model_builders.h"
#include "mega/config/parameter_count.h"
#include "mega/config/recipe/presets.h"
#include "mega/ops/form.h"
#include "mega/report/progress.h"
#include "mega/report/table.h"
#include "mega/train/adamw.h"

namespace mega::bench {
namespace {

using torch::Tensor;

struct System {
  const char* name;
  const char* preset;
  std::vector<const char*> changes;  // of the preset
  ops::Form form = ops::Form::fused;
  const char *paper_speed = "", *paper_memory = "";  // relative to the Transformer, where the paper has them
};

// The first is what all others are compared with. A Transformer is there in the plain form that the paper
// measured, too: scores of all pairs in memory.
const std::vector<System>& systems() {
  static const std::vector<System> table = {
      {"transformer-plain", "lra-text-transformer", {}, ops::Form::reference, "1", "1"},
      {"transformer", "lra-text-transformer", {}},
      {"reformer", "lra-text-reformer", {}, ops::Form::fused, "0.8", "0.24"},
      {"reformer-article", "lra-text-reformer", {"model.form=article"}},
      {"linformer", "lra-text-linformer", {}, ops::Form::fused, "5.5", "0.10"},
      {"bigbird", "lra-text-bigbird", {}, ops::Form::fused, "1.1", "0.30"},
      {"performer", "lra-text-performer", {}, ops::Form::fused, "5.7", "0.11"},
      {"performer-favor", "lra-text-performer", {"model.kernel=favor"}},
      {"luna", "lra-text-luna", {}, ops::Form::fused, "4.9", "0.16"},
      {"flash-quad", "lra-text-flash", {}},
      {"flash-mixed", "lra-text-flash", {"model.form=mixed"}},
      {"mega", "lra-text", {}, ops::Form::fused, "2.9", "0.31"},
      {"mega-chunk", "lra-text-chunk", {}, ops::Form::fused, "5.5", "0.13"}};
  return table;
}

const System& find_system(const std::string& name) {
  for (const System& system : systems())
    if (system.name == name) return system;
  fail("table2 has no system ", in_quotes(name), "; it has ", join(table2_systems(), ", "));
}

Recipe recipe_of(const System& system, int64_t length) {
  Recipe recipe = load_preset(system.preset);
  for (const char* change : system.changes) set_option(recipe, change);
  // One more for a token in front.
  if (const int64_t most = recipe.model.kind().max_length(); most > 0 && most < length + 1) {
    const bool mega = dynamic_cast<const EncoderClassifierOptions*>(&recipe.model.kind()) != nullptr;
    set_option(recipe,
               (mega ? "model.block.max_positions=" : "model.max_positions=") + std::to_string(length + 1));
  }
  return recipe;
}

double half_range(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double q) {
    return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
  };
  return 0.5 * (at(0.75) - at(0.25));
}

std::string times(double ratio) { return ratio > 0.0 ? number("%.2f×", ratio) : ""; }

}  // namespace

std::vector<std::string> table2_systems() {
  std::vector<std::string> names;
  for (const System& system : systems()) names.emplace_back(system.name);
  return names;
}

std::string run_table2_system(const Table2Settings& settings, const std::string& name) {
  constexpr int64_t kShort = 64;
  constexpr int kMostSteps = 5;
  constexpr double kEnoughSeconds = 1.0;
  const System& system = find_system(name);
  const Recipe recipe = recipe_of(system, settings.length);
  const ops::FormGuard guard(system.form);
  const auto model = baselines::make_sequence_model(recipe.model);
  model->train();
  train::AdamW optimiser(model->parameters(), recipe.train);
  const int64_t vocabulary = sequence_options(recipe.model)->vocabulary;
  const auto step = [&](int64_t length) {
    const Tensor tokens = torch::randint(4, vocabulary, {settings.batch, length}, torch::kInt64);
    const Tensor labels = torch::randint(2, {settings.batch}, torch::kInt64);
    optimiser.zero_gradients();
    torch::nn::functional::cross_entropy(model->predict({{tokens, {}}}), labels).backward();
    optimiser.step(1e-4);
  };
  // A short one first: libraries, threads, gradients and the optimiser's state are there before the
  // measurement.
  step(kShort);
  const double peak = peak_growth_mb([&] { step(settings.length); });
  std::vector<double> seconds;
  double sum = 0.0;
  while (static_cast<int>(seconds.size()) < kMostSteps && (seconds.empty() || sum < kEnoughSeconds)) {
    seconds.push_back(seconds_of([&] { step(settings.length); }));
    sum += seconds.back();
  }
  return number("%.6f", median(seconds)) + number(" %.3f", peak);
}

Table2 run_table2(const Table2Settings& settings) {
  std::vector<std::string> names = settings.only.empty() ? table2_systems() : settings.only;
  for (const std::string& name : names) find_system(name);
  std::vector<std::vector<double>> seconds(names.size()), peaks(names.size());
  Progress progress("table2", static_cast<int64_t>(names.size()) * settings.repeats, "runs");
  for (int round = 0; round < settings.repeats; ++round)
    for (size_t i = 0; i < names.size(); ++i) {
      std::istringstream output(child_output(
          {"bench", "table2", "--system", names[i], "--length", std::to_string(settings.length), "--batch",
           std::to_string(settings.batch), "--threads", std::to_string(settings.threads)}));
      double time = 0.0, peak = 0.0;
      require(static_cast<bool>(output >> time >> peak), "the process that measures ", names[i],
              " said nothing");
      seconds[i].push_back(time);
      peaks[i].push_back(peak);
      progress.update(round * static_cast<int64_t>(names.size()) + static_cast<int64_t>(i) + 1);
    }
  Table2 table;
  for (size_t i = 0; i < names.size(); ++i) {
    const System& system = find_system(names[i]);
    Table2Row row;
    row.name = names[i];
    row.parameters = count_parameters(recipe_of(system, settings.length).model).total;
    row.median_s = median(seconds[i]);
    row.spread = half_range(seconds[i]) / row.median_s;
    row.tokens_per_s = static_cast<double>(settings.batch * settings.length) / row.median_s;
    row.peak_mb = median(peaks[i]);
    row.paper_speed = system.paper_speed;
    row.paper_memory = system.paper_memory;
    table.rows.push_back(row);
  }
  const auto plain = std::find_if(table.rows.begin(), table.rows.end(),
                                  [](const Table2Row& row) { return row.name == systems().front().name; });
  if (plain == table.rows.end()) return table;
  const Table2Row base = *plain;
  for (Table2Row& row : table.rows) {
    row.speed = base.median_s / row.median_s;
    row.memory = row.peak_mb / base.peak_mb;
  }
  return table;
}

std::string Table2::markdown() const {
  Table table({"system", "parameters", "step", "± %", "tokens/s", "peak MB", "speed", "memory",
               "paper: speed", "paper: memory"});
  for (const Table2Row& row : rows)
    table.add({row.name, with_thousands(row.parameters), human_seconds(row.median_s),
               number("%.1f", 100 * row.spread), with_thousands(std::llround(row.tokens_per_s)),
               number("%.0f", row.peak_mb), times(row.speed), times(row.memory),
               row.paper_speed.empty() ? "" : row.paper_speed + "×",
               row.paper_memory.empty() ? "" : row.paper_memory + "×"});
  return table.markdown();
}

std::string Table2::csv() const {
  std::ostringstream out;
  out << "system,parameters,seconds,spread,tokens_per_second,peak_mb,speed,memory,paper_speed,paper_memory\n";
  for (const Table2Row& row : rows)
    out << row.name << ',' << row.parameters << ',' << row.median_s << ',' << row.spread << ','
        << row.tokens_per_s << ',' << row.peak_mb << ',' << row.speed << ',' << row.memory << ','
        << row.paper_speed << ',' << row.paper_memory << '\n';
  return out.str();
}

std::string Table2::json() const {
  auto list = nlohmann::ordered_json::array();
  for (const Table2Row& row : rows)
    list.push_back({{"system", row.name},
                    {"parameters", row.parameters},
                    {"median_seconds", row.median_s},
                    {"spread", row.spread},
                    {"tokens_per_second", row.tokens_per_s},
                    {"peak_growth_mb", row.peak_mb},
                    {"speed", row.speed},
                    {"memory", row.memory},
                    {"paper_speed", row.paper_speed},
                    {"paper_memory", row.paper_memory}});
  return list.dump(2) + "\n";
}

}  // namespace mega::bench
