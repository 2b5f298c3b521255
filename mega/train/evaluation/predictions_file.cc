#include "mega/train/evaluation/predictions_file.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "mega/base/files/stream.h"
#include "mega/base/strings.h"

namespace mega::train {
namespace {

using Json = nlohmann::ordered_json;

// One example, as both forms show it.
struct Row {
  std::string input, label, prediction;
  std::span<const float> values;   // probabilities of the classes, or predicted numbers
  std::span<const float> targets;  // of a regression
};

std::string json_line(const Row& row, const std::vector<std::string>& classes) {
  Json json = {{"input", row.input}};
  if (classes.empty()) {
    json["targets"] = row.targets;
    json["values"] = row.values;
  } else {
    json["label"] = row.label;
    json["prediction"] = row.prediction;
    for (size_t i = 0; i < classes.size(); ++i)
      json["classes"].push_back({{"class", classes[i]}, {"probability", row.values[i]}});
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string number(float value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));  // enough to read the same float back
  return text;
}

// A field in quotes where it needs them.
std::string field(const std::string& text, char separator) {
  if (text.find_first_of(std::string("\"\r\n") + separator) == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string table_line(std::vector<std::string> fields, char separator) {
  for (std::string& one : fields) one = field(one, separator);
  return join(fields, std::string(1, separator)) + "\n";
}

std::string header(const std::vector<std::string>& classes, size_t outputs, char separator) {
  std::vector<std::string> names = {"input"};
  if (classes.empty()) {
    for (const char* name : {"target", "value"})
      for (size_t i = 0; i < outputs; ++i)
        names.push_back(std::string(name) + (outputs > 1 ? "_" + std::to_string(i + 1) : ""));
  } else {
    names.insert(names.end(), {"label", "prediction"});
    for (const std::string& one : classes) names.push_back("probability of " + one);
  }
  return table_line(names, separator);
}

std::string table_row(const Row& row, const std::vector<std::string>& classes, char separator) {
  std::vector<std::string> fields = {row.input};
  if (!classes.empty()) fields.insert(fields.end(), {row.label, row.prediction});
  for (const float value : row.targets) fields.push_back(number(value));
  for (const float value : row.values) fields.push_back(number(value));
  return table_line(fields, separator);
}

}  // namespace

void write_predictions(const std::filesystem::path& path, const Evaluation& evaluation,
                       const data::Part& part, const std::vector<std::string>& classes) {
  const std::filesystem::path kind = without_packing(path).extension();
  const char separator = kind == ".csv" ? ',' : kind == ".tsv" ? '\t' : '\0';
  const size_t outputs =
      evaluation.answers.empty() ? 0 : evaluation.targets.size() / evaluation.answers.size();
  OutputStream file(path);
  if (separator != '\0') file.write(header(classes, outputs, separator));
  for (size_t i = 0; i < evaluation.answers.size(); ++i) {
    const Answer& answer = evaluation.answers[i];
    const int64_t example = evaluation.examples[i];
    Row row{part.where(example), part.label(example), "", answer.outputs, {}};
    if (classes.empty())
      row.targets = std::span(evaluation.targets).subspan(i * outputs, outputs);
    else
      row.prediction = classes[static_cast<size_t>(answer.label())];
    file.write(separator != '\0' ? table_row(row, classes, separator) : json_line(row, classes));
  }
  file.commit();
}

}  // namespace mega::train
