#include "cli/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/seeds.h"
#include "mega/base/strings.h"
#include "mega/report/run_report.h"

namespace mega::cli {
namespace {

using Values = std::vector<double>;

constexpr const char* kRates = "Learning rates that were tried";

std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Metrics that are shares are shown in per cent.
bool is_share(const std::string& metric) { return metric.ends_with("accuracy"); }

std::string score_text(const std::string& metric, double value, double uncertainty) {
  if (std::isnan(value)) return "–";
  const double factor = is_share(metric) ? 100.0 : 1.0;
  const char* format = is_share(metric) ? "%.1f" : "%.3f";
  std::string text = formatted(format, factor * value) + (is_share(metric) ? " %" : "");
  if (uncertainty > 0) text += " ± " + formatted(format, factor * uncertainty);
  return text;
}

template <class Value>
Values of_runs(const ComparedModel& model, Value value) {
  Values values;
  for (const ComparedRun& run : model.runs)
    if (run.result) values.push_back(static_cast<double>(value(*run.result)));
  return values;
}

template <class Value>
double mean_of(const ComparedModel& model, Value value) {
  const Values values = of_runs(model, value);
  return values.empty() ? kNoScore : mean_deviation(values).mean;
}

double score_of(const ComparedModel& model) {
  return mean_of(model, [](const TrainedRun& run) { return run.score(); });
}

// Over several seeds their standard deviation is shown, of a single one the uncertainty of its test examples.
template <class Value>
std::string scores_text(const ComparedModel& model, Value value, double of_one) {
  const Values values = of_runs(model, value);
  if (values.empty()) return "–";
  const auto [mean, deviation] = mean_deviation(values);
  return score_text(model.any_result()->metric, mean, values.size() > 1 ? deviation : of_one);
}

std::string whole(double number) { return with_thousands(std::llround(number)); }

std::vector<std::string> row_of(const ComparedModel& model) {
  const TrainedRun* any = model.any_result();
  std::vector<std::string> row = {model.name};
  if (any == nullptr) {
    row.insert(row.end(), {"failed", "–", "–", rate_text(model.learning_rate), "–", "–", "–"});
    return row;
  }
  row.push_back(scores_text(
      model, [](const TrainedRun& run) { return run.test; }, any->test_ci95));
  row.push_back(scores_text(
      model, [](const TrainedRun& run) { return run.valid; }, 0.0));
  row.push_back(with_thousands(any->parameters));
  row.push_back(rate_text(model.learning_rate));
  row.push_back(whole(mean_of(model, [](const TrainedRun& run) { return run.updates; })));
  row.push_back(whole(mean_of(model, [](const TrainedRun& run) { return run.positions_per_second; })));
  row.push_back(human_bytes(
      static_cast<uint64_t>(mean_of(model, [](const TrainedRun& run) { return run.peak_memory; }))));
  return row;
}

// The mean over runs at each update that some have a score of, with its deviation where several have.
Curve mean_curve(const ComparedModel& model) {
  std::map<double, Values> scores;
  for (const ComparedRun& run : model.runs)
    if (run.result)
      for (const Point& point : run.result->by_update) scores[point.x].push_back(point.y);
  Curve curve{model.name, {}};
  for (const auto& [update, values] : scores) {
    const auto [mean, deviation] = mean_deviation(values);
    curve.points.push_back({update, mean});
    curve.errors.push_back(deviation);
  }
  return curve;
}

nlohmann::ordered_json number_or_null(double value) {
  return std::isnan(value) ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
}

}  // namespace

const TrainedRun* ComparedModel::any_result() const {
  for (const ComparedRun& run : runs)
    if (run.result) return &*run.result;
  return nullptr;
}

const TrainedRun* Comparison::any_result() const {
  for (const ComparedModel& model : models)
    if (const TrainedRun* result = model.any_result()) return result;
  return nullptr;
}

Table Comparison::table() const {
  const TrainedRun* any = any_result();
  const std::string metric = any == nullptr ? "score" : any->metric;
  Table table({"model", "test " + metric, "valid " + metric, "parameters", "rate", "updates", "tokens/s",
               "peak memory"});
  std::vector<const ComparedModel*> order;
  for (const ComparedModel& model : models) order.push_back(&model);
  std::stable_sort(order.begin(), order.end(), [&](const ComparedModel* a, const ComparedModel* b) {
    return better(score_of(*a), score_of(*b), any == nullptr || any->higher_is_better);
  });
  for (const ComparedModel* model : order) table.add(row_of(*model));
  return table;
}

nlohmann::ordered_json Comparison::json() const {
  nlohmann::ordered_json all = {{"recipe", recipe}, {"command", command}};
  if (const TrainedRun* any = any_result()) {
    all["metric"] = any->metric;
    all["higher_is_better"] = any->higher_is_better;
  }
  all["models"] = nlohmann::ordered_json::array();
  for (const ComparedModel& model : models) {
    nlohmann::ordered_json one = {{"model", model.name}, {"learning_rate", model.learning_rate}};
    one["rates"] = nlohmann::ordered_json::array();
    for (const TriedRate& tried : model.rates)
      one["rates"].push_back({{"learning_rate", tried.rate},
                              {"valid_loss", number_or_null(tried.loss)},
                              {"updates", tried.updates}});
    one["runs"] = nlohmann::ordered_json::array();
    for (const ComparedRun& run : model.runs) {
      nlohmann::ordered_json entry = {{"seed", run.seed}, {"folder", run.folder.string()}};
      if (run.result)
        entry.update({{"parameters", run.result->parameters},
                      {"updates", run.result->updates},
                      {"seconds", run.result->seconds},
                      {"positions_per_second", run.result->positions_per_second},
                      {"peak_memory_bytes", run.result->peak_memory},
                      {"valid", number_or_null(run.result->valid)},
                      {"test", number_or_null(run.result->test)},
                      {"test_ci95", run.result->test_ci95}});
      one["runs"].push_back(std::move(entry));
    }
    all["models"].push_back(std::move(one));
  }
  return all;
}

Table Comparison::rates() const {
  Table table({"model", "learning rate", "valid loss", "updates"});
  for (const ComparedModel& model : models)
    for (const TriedRate& tried : model.rates)
      table.add({model.name, rate_text(tried.rate),
                 std::isnan(tried.loss) ? "failed" : formatted("%.4f", tried.loss),
                 with_thousands(tried.updates)});
  return table;
}

std::vector<std::pair<std::string, LineChart>> Comparison::charts() const {
  if (any_result() == nullptr) return {};
  LineChart time, updates;
  time.title = "Over time";
  time.x_label = "seconds";
  updates.title = "Over updates";
  updates.x_label = "updates";
  time.y_label = updates.y_label = "valid " + any_result()->metric;
  for (const ComparedModel& model : models)
    if (const TrainedRun* run = model.any_result()) {
      time.curves.push_back({model.name, run->by_seconds});
      updates.curves.push_back(mean_curve(model));
    }
  return {{"over-time", time}, {"over-updates", updates}};
}

std::string Comparison::markdown() const {
  std::string text = "# " + recipe + ": models side by side\n\n" + description + "\n\n```sh\n" + command +
                     "\n```\n\n" + table().markdown();
  if (!rates().empty()) text += "\n" + std::string(kRates) + ":\n\n" + rates().markdown();
  return text;
}

std::string Comparison::html() const {
  Report report;
  report.title = recipe + ": models side by side";
  report.description = description;
  report.command = command;
  report.summary = {{"each model", budget}};
  report.tables.emplace_back("Results", table());
  if (!rates().empty()) report.tables.emplace_back(kRates, rates());
  for (auto& [name, chart] : charts()) report.charts.push_back(std::move(chart));
  return to_html(report);
}

}  // namespace mega::cli
