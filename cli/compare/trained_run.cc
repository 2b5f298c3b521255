#include "cli/compare/trained_run.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/json.h"

namespace mega::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double number_in(const json& object, const std::string& name, double otherwise) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

// Evaluations are logged by update; the points of training between them tell the time.
void read_curves(const fs::path& path, TrainedRun& run) {
  std::istringstream lines(read_file(path));
  std::vector<double> rates;
  double seconds = 0.0;
  for (std::string line; std::getline(lines, line);) {
    const json entry = parse_json(line, path.string());
    if (!entry.is_object()) continue;
    seconds = number_in(entry, "seconds", seconds);
    if (entry.contains("positions_per_second")) rates.push_back(number_in(entry, "positions_per_second", 0));
    const double value = number_in(entry, "valid_" + run.metric, kNoScore);
    if (std::isnan(value)) continue;
    run.by_update.push_back({number_in(entry, "update", 0), value});
    run.by_seconds.push_back({seconds, value});
  }
  run.positions_per_second = median(std::move(rates));
}

}  // namespace

double TrainedRun::score() const { return std::isnan(test) ? valid : test; }

bool is_finished(const fs::path& folder) { return fs::exists(folder / "result.json"); }

TrainedRun read_trained_run(const fs::path& folder) {
  const fs::path path = folder / "result.json";
  const json result = parse_json(read_file(path), path.string());
  TrainedRun run;
  try {
    run.parameters = result.at("parameters").get<int64_t>();
    run.updates = result.at("updates").get<int64_t>();
    run.seconds = result.at("seconds").get<double>();
    run.peak_memory = result.at("peak_memory_bytes").get<int64_t>();
    run.metric = result.value("selected_by", "");
    run.higher_is_better = result.value("higher_is_better", true);
    run.valid = number_in(result.at("valid"), run.metric, kNoScore);
    // Without a loss the metric takes its place; a loss that is null was not finite.
    const double otherwise = run.higher_is_better ? -run.valid : run.valid;
    run.valid_loss =
        number_in(result.at("valid"), "loss", result.at("valid").contains("loss") ? kNoScore : otherwise);
    run.test = number_in(result.at("test"), run.metric, kNoScore);
    run.test_ci95 = number_in(result.at("test"), run.metric + "_ci95", 0.0);
  } catch (const json::exception& error) {
    fail(path.string(), ": not the result of a run of this version: ", error.what());
  }
  read_curves(folder / "metrics.jsonl", run);
  return run;
}

bool better(double a, double b, bool higher_is_better) {
  if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);
  return higher_is_better ? a > b : a < b;
}

}  // namespace mega::cli
