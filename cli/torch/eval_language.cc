#include "cli/torch/eval_language.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands/evaluation_data.h"
#include "cli/model_argument.h"
#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/json.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/data/corpus/corpus.h"
#include "mega/data/dataset.h"
#include "mega/report/chart.h"
#include "mega/report/progress.h"
#include "mega/report/table.h"
#include "mega/train/run.h"
#include "mega/train/saved_model.h"
#include "mega/train/tasks/language_task.h"

namespace mega::cli {
namespace {

using Json = nlohmann::ordered_json;

// A setting and the values to evaluate it at.
struct Sweep {
  std::string setting;  // "chunk" or "context"
  std::vector<int64_t> values;
};

Sweep parse_sweep(const std::string& text) {
  const auto refuse = [&] {
    fail("--sweep: expected chunk=512,1024,2048 or context=2500,5000, got ", in_quotes(text));
  };
  const size_t equals = text.find('=');
  Sweep sweep;
  sweep.setting = text.substr(0, equals);
  if (equals == std::string::npos || (sweep.setting != "chunk" && sweep.setting != "context")) refuse();
  for (const std::string& part : split(text.substr(equals + 1), ',')) {
    constexpr size_t kMostDigits = 12;
    if (part.empty() || part.size() > kMostDigits ||
        part.find_first_not_of("0123456789") != std::string::npos)
      refuse();
    sweep.values.push_back(std::stoll(part));
    if (sweep.values.back() == 0) refuse();
  }
  std::sort(sweep.values.begin(), sweep.values.end());  // for the chart
  return sweep;
}

struct Result {
  train::Scores scores;
  int64_t tokens = 0;
  double seconds = 0.0;

  double tokens_per_second() const { return static_cast<double>(tokens) / seconds; }
};

std::string metric_value(const train::Metric& metric) {
  return metric_text(metric).substr(metric.name.size() + 1);
}

void add_metrics(Json& report, const Result& result) {
  report.update(train::to_json(result.scores));
  report["seconds"] = result.seconds;
  report["tokens_per_second"] = result.tokens_per_second();
}

class Evaluator {
 public:
  explicit Evaluator(const LanguageEvaluation& request)
      : request_(request),
        saved_(train::load_language_model(model_path(request.model), request.reading.chunk)) {
    saved_.model->to(request.device);
    require(!saved_.options.kind().reading().has_window() || request.reading.segments == 0,
            "--segments: this model reads with a sliding window; set its length with --context N");
    Recipe recipe;
    recipe.data = evaluation_data(saved_.signature.data, request.path);
    for (const std::string& assignment : request.changes) {
      require(assignment.starts_with("data."), "--set ", assignment,
              ": eval of a language model accepts data options only; use --chunk and --context to change how "
              "it reads");
      change(recipe, assignment);
    }
    const auto& input = std::get<LanguageInput>(saved_.signature.input.input);
    units_ = input.units;
    text_ = data::load_corpus(recipe.data, input, saved_.tokenizer).part(request.split);
    require(!text_.empty(), recipe.data.path, ": no ", data::split_name(request.split),
            " text; choose another split with --split");
  }

  const data::TokenView& text() const { return text_; }

  Result evaluate() { return evaluate(saved_, request_.reading.context, "evaluating"); }

  Result evaluate(const std::string& setting, int64_t value) {
    const std::string title = setting + " " + with_thousands(value);
    if (setting == "context") return evaluate(saved_, value, title);
    const train::SavedLanguageModel other = train::load_language_model(model_path(request_.model), value);
    other.model->to(request_.device);
    return evaluate(other, request_.reading.context, title);
  }

 private:
  Result evaluate(const train::SavedLanguageModel& saved, int64_t context, const std::string& title) const {
    Progress progress(title, text_.size(), "tokens");
    train::TextReading reading;
    reading.context = context;
    if (request_.reading.segments > 0) reading.segments = request_.reading.segments;
    reading.device = request_.device;
    reading.progress = [&](int64_t done) { progress.update(done); };
    const train::TextEvaluation evaluation =
        train::evaluate_text(*saved.model, saved.options.kind().reading(), text_, reading);
    return {train::text_scores(evaluation.score, units_), evaluation.score.tokens, evaluation.seconds};
  }

  const LanguageEvaluation& request_;
  train::SavedLanguageModel saved_;
  TextUnits units_ = TextUnits::bytes;
  data::TokenView text_;
};

std::filesystem::path chart_folder(const LanguageEvaluation& request) {
  if (!request.reading.out.empty()) return request.reading.out;
  const std::filesystem::path run = model_path(request.model).parent_path();
  return train::holds_a_run(run) ? run : std::filesystem::path(".");
}

// One metric at each value of the setting, as a table and as a chart.
class SweepReport {
 public:
  explicit SweepReport(std::string setting) : setting_(std::move(setting)) {}

  void add(int64_t value, const Result& result) {
    const train::Metric& metric = result.scores.metrics.front();
    name_ = metric.name;
    curve_.points.push_back({static_cast<double>(value), metric.value});
    curve_.errors.push_back(metric.uncertainty);
    rows_.push_back({with_thousands(value), metric_value(metric),
                     with_thousands(static_cast<int64_t>(result.tokens_per_second()))});
    Json row = {{setting_, value}};
    add_metrics(row, result);
    json_.push_back(std::move(row));
  }

  std::string plain() const {
    Table table({setting_, name_, "tokens/s"});
    for (const auto& row : rows_) table.add(row);
    return table.plain();
  }
  const Json& json() const { return json_; }

  std::filesystem::path write_chart(const std::filesystem::path& folder) const {
    const std::string label = setting_ == "chunk" ? "chunk size (tokens)" : "context (tokens)";
    const LineChart chart{name_ + " by " + setting_, label, name_, {curve_}, false, true};
    std::filesystem::create_directories(folder);
    const std::filesystem::path path = folder / ("sweep-" + setting_ + ".svg");
    write_file(path, to_svg(chart));
    return path;
  }

 private:
  std::string setting_, name_;
  Curve curve_;
  std::vector<std::vector<std::string>> rows_;
  Json json_ = Json::array();
};

Json describe(const LanguageEvaluation& request, const data::TokenView& text) {
  return {{"model", request.model},
          {"split", data::split_name(request.split)},
          {"tokens", text.size()},
          {"unknown", text.counts.unknown}};
}

void print_json(const Json& report) { std::printf("%s\n", json_text(report, 2).c_str()); }

void warn_of_unknown(const data::TokenView& text) {
  if (text.counts.unknown == 0) return;
  std::printf("%.2f %% of the tokens are unknown to the model (%s); each is scored as <unk>\n",
              100.0 * static_cast<double>(text.counts.unknown) / static_cast<double>(text.size()),
              with_thousands(text.counts.unknown).c_str());
}

void evaluate_once(const LanguageEvaluation& request, Evaluator& evaluator) {
  const Result result = evaluator.evaluate();
  if (request.json) {
    Json report = describe(request, evaluator.text());
    add_metrics(report, result);
    print_json(report);
    return;
  }
  for (const train::Metric& metric : result.scores.metrics) std::printf("%s\n", metric_text(metric).c_str());
  std::printf("%s %s tokens in %s: %s tokens/s\n", with_thousands(result.tokens).c_str(),
              data::split_name(request.split), human_seconds(result.seconds).c_str(),
              with_thousands(static_cast<int64_t>(result.tokens_per_second())).c_str());
  warn_of_unknown(evaluator.text());
}

void evaluate_sweeps(const LanguageEvaluation& request, const std::vector<Sweep>& sweeps,
                     Evaluator& evaluator) {
  Json report = describe(request, evaluator.text());
  for (const Sweep& sweep : sweeps) {
    SweepReport rows(sweep.setting);
    for (const int64_t value : sweep.values) rows.add(value, evaluator.evaluate(sweep.setting, value));
    const std::string chart = rows.write_chart(chart_folder(request));
    report["sweeps"].push_back({{"setting", sweep.setting}, {"rows", rows.json()}, {"chart", chart}});
    if (!request.json) std::printf("%schart: %s\n\n", rows.plain().c_str(), printable(chart).c_str());
  }
  if (request.json)
    print_json(report);
  else
    warn_of_unknown(evaluator.text());
}

}  // namespace

void evaluate_language_model(const LanguageEvaluation& request) {
  std::vector<Sweep> sweeps;  // parsed first: errors are reported before the data is read
  for (const std::string& text : request.reading.sweeps) sweeps.push_back(parse_sweep(text));
  Evaluator evaluator(request);
  if (sweeps.empty())
    evaluate_once(request, evaluator);
  else
    evaluate_sweeps(request, sweeps, evaluator);
}

}  // namespace mega::cli
