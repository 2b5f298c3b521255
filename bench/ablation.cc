#include "bench/ablation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>

#include "bench/measure.h"
#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/json.h"
#include "mega/base/strings.h"
#include "mega/config/parameter_count.h"

namespace mega::bench {
namespace {

constexpr const char* kFull = "-1";

// A value of an ablation.
struct Variation {
  const Ablation* ablation;
  std::string value;
  System system;
};

std::string system_name(const Ablation& ablation, const std::string& value) {
  return ablation.name + "-" + (value == kFull ? "full" : value);
}

std::vector<Variation> variations(const AblationSettings& settings) {
  std::vector<Variation> all;
  std::vector<std::string> names;
  const auto wanted = [&](const std::string& name) {
    return std::find(settings.only.begin(), settings.only.end(), name) != settings.only.end();
  };
  for (const Ablation& ablation : ablations()) {
    names.push_back(ablation.name);
    for (const std::string& value : ablation.values) {
      const std::string name = system_name(ablation, value);
      names.push_back(name);
      if (settings.only.empty() || wanted(ablation.name) || wanted(name)) {
        System system{name, settings.preset, settings.changes};
        system.changes.push_back(ablation.key + "=" + value);
        all.push_back({&ablation, value, std::move(system)});
      }
    }
  }
  for (const std::string& name : settings.only)
    require(std::find(names.begin(), names.end(), name) != names.end(), "--only: there is no ablation ",
            in_quotes(name), "; there are ", join(names, ", "));
  return all;
}

std::string value_of(const Recipe& recipe, const std::string& key) {
  for (const OptionRow& row : option_rows(recipe))
    if (row.key == key) return row.value;
  fail("the model of ", in_quotes(recipe.model.kind_name()), " has no option ", key,
       ": ablations are of Mega's classifiers");
}

// Mean test scores, by name of the variation, of models that `mega compare` has trained.
void read_scores(const std::string& file, const Ablation& ablation, std::map<std::string, double>& scores) {
  const nlohmann::json comparison = parse_json(read_file(file), file);
  for (const auto& model : comparison.at("models")) {
    double sum = 0.0, count = 0.0;
    for (const auto& run : model.at("runs"))
      for (const char* part : {"test", "valid"}) {
        if (!run.contains(part) || run[part].is_null()) continue;
        sum += run[part].get<double>();
        ++count;
        break;
      }
    const std::string name = model.at("model");
    if (count > 0) scores[system_name(ablation, name.substr(name.find('=') + 1))] = sum / count;
  }
}

std::map<std::string, double> train(const AblationSettings& settings,
                                    const std::vector<Variation>& variations) {
  std::map<std::string, double> scores;
  for (const Ablation& ablation : ablations()) {
    std::vector<std::string> values;
    for (const Variation& variation : variations)
      if (variation.ablation == &ablation) values.push_back(variation.value);
    if (values.empty()) continue;
    const std::string folder = settings.out + "/" + ablation.name;
    std::vector<std::string> command = {
        "compare", settings.preset, "--vary",    ablation.key + "=" + join(values, ","),
        "--time",  settings.time,   "--seeds",   settings.seeds,
        "--out",   folder,          "--threads", std::to_string(settings.threads)};
    if (!settings.data.empty()) command.insert(command.end(), {"--data", settings.data});
    for (const std::string& assignment : settings.changes)
      command.insert(command.end(), {"--set", assignment});
    const std::string comparison = folder + "/comparison.json";
    std::error_code none;
    const auto before = std::filesystem::last_write_time(comparison, none);
    try {
      child_output(command);
    } catch (const Error& error) {
      // Where one of the models failed, the others have their scores.
      if (std::filesystem::last_write_time(comparison, none) == before) throw;
      std::fprintf(stderr, "%s\n", error.what());
    }
    read_scores(comparison, ablation, scores);
  }
  return scores;
}

LineChart chart_of(const Ablation& ablation, const char* y_label) {
  LineChart chart;
  chart.title = ablation.title;
  chart.x_label = ablation.title;
  chart.y_label = y_label;
  chart.log_x = ablation.name == "chunk";
  return chart;
}

}  // namespace

const std::vector<Ablation>& ablations() {
  static const std::vector<Ablation> all = {
      {"ema", "EMA dimension", "model.block.ema.dimension", {"0", "1", "2", "4", "8", "16", "32"}},
      {"chunk", "chunk size", "model.block.chunk", {"16", "32", "64", "128", "256", "512", kFull}},
      {"attention", "attention function", "model.block.attention", {"softmax", "relu2", "laplace"}}};
  return all;
}

Results run_ablation(const AblationSettings& settings) {
  Recipe recipe = load_recipe(settings.preset);
  for (const std::string& assignment : settings.changes) change(recipe, assignment);
  require(sequence_options(recipe.model) != nullptr, settings.preset,
          ": ablations are of Mega's classifiers of sequences");
  const int64_t most = recipe.model.kind().max_length();
  const int64_t length = settings.one_length(most > 0 ? most : 4000);
  const std::vector<Variation> all = variations(settings);
  std::map<std::string, std::string> own;  // the preset's value of each option
  for (const Ablation& ablation : ablations()) own[ablation.name] = value_of(recipe, ablation.key);
  require(settings.data.empty() || !settings.time.empty(),
          "--data: how long is each model to be trained? Name a time with --time");
  std::map<std::string, double> scores;
  if (!settings.time.empty()) scores = train(settings, all);
  std::vector<Trial> trials;
  for (const Variation& variation : all)
    trials.push_back(trial_of(kStep, variation.system, length, settings));
  const std::vector<Timing> timings = measure_in_rounds(trials, settings.plan("ablation"));
  const auto base_of = [&](const Ablation& ablation) {
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].ablation == &ablation && all[i].value == own[ablation.name]) return timings[i];
    return Timing{};
  };

  const bool trained = !scores.empty();
  ResultTable table({{"what", "ablation"},
                     {"value", "value"},
                     {"", "system"},
                     {"parameters", "parameters"},
                     {"step", "median_seconds"},
                     {"± %", "spread"},
                     {"tokens/s", "tokens_per_second"},
                     {"peak MB", "peak_growth_mb"},
                     {"speed", "speed"},
                     {trained ? "score" : "", trained ? "score" : ""}});
  Results results{{}, {}};
  for (const Ablation& ablation : ablations()) {
    Curve speed{"tokens per second", {}}, score{"score", {}};
    const Timing base = base_of(ablation);
    for (size_t i = 0; i < all.size(); ++i) {
      const auto& [own_ablation, value, system] = all[i];
      if (own_ablation != &ablation) continue;
      const Timing& timing = timings[i];
      const double tokens = static_cast<double>(settings.batch * length) / timing.median_s;
      const double reached =
          scores.contains(system.name) ? scores[system.name] : std::numeric_limits<double>::quiet_NaN();
      table.add({text_cell(ablation.title), text_cell(value == kFull ? "full" : value),
                 text_cell(system.name), count_cell(count_parameters(recipe_of(system, length).model).total),
                 seconds_cell(timing.median_s), percent_cell(timing.spread), count_cell(std::llround(tokens)),
                 number_cell("%.0f", timing.peak_mb), ratio_cell(base.median_s / timing.median_s),
                 number_cell("%.4f", reached)});
      if (ablation.name == "attention") continue;  // not numbers
      const double x = value == kFull ? static_cast<double>(length) : std::stod(value);
      speed.points.push_back({x, tokens});
      speed.errors.push_back(timing.spread * tokens);
      score.points.push_back({x, reached});
    }
    if (speed.points.empty()) continue;
    LineChart speeds = chart_of(ablation, "tokens per second"), accuracies = chart_of(ablation, "score");
    speeds.curves.push_back(std::move(speed));
    accuracies.curves.push_back(std::move(score));
    results.charts.emplace_back("ablation-" + ablation.name, std::move(speeds));
    if (trained) results.charts.emplace_back("ablation-" + ablation.name + "-score", std::move(accuracies));
  }
  results.tables.emplace_back("rows", std::move(table));
  return results;
}

}  // namespace mega::bench
