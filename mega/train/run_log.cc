#include "mega/train/run_log.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/json.h"
#include "mega/base/strings.h"
#include "mega/base/utf8.h"
#include "mega/report/event_file.h"

namespace mega::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kUpdate = "update";
constexpr const char* kNote = "note";
constexpr const char* kSample = "sample";

std::string to_line(const Json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

RunLog::RunLog(std::filesystem::path folder, int64_t update) : folder_(std::move(folder)) {
  const std::filesystem::path path = folder_ / "metrics.jsonl";
  std::string kept;
  if (update > 0 && std::filesystem::exists(path)) {
    for (const std::string& line : split(read_file(path), '\n')) {
      try {
        const nlohmann::json json = parse_json(line, path.string());
        const double at = json.at(kUpdate).get<double>();
        if (!(at >= 0 && at <= static_cast<double>(update))) continue;
        remember(line);
      } catch (const std::exception&) {
        continue;  // a partial line of a killed run
      }
      kept += line + "\n";
    }
  }
  write_file(path, kept);
  file_ = std::fopen(path.c_str(), "a");
  require(file_ != nullptr, path.string(), ": ", std::strerror(errno));
  events_ = std::make_unique<EventFile>(folder_);
}

RunLog::~RunLog() { std::fclose(file_); }

void RunLog::remember(const std::string& line) {
  const nlohmann::json json = parse_json(line, "metrics.jsonl");
  const auto update = json.at(kUpdate).get<double>();
  if (json.contains(kNote)) {
    notes_.push_back("update " + with_thousands(static_cast<int64_t>(update)) + ": " +
                     json.at(kNote).get<std::string>());
    return;
  }
  if (json.contains(kSample))
    samples_.emplace_back(static_cast<int64_t>(update), json.at(kSample).get<std::string>());
  for (const auto& [name, value] : json.items())
    if (name != kUpdate && value.is_number())
      curves_[metric_key(name)].push_back({update, value.get<double>()});  // "valid loss" in version 0.1
}

void RunLog::write(const std::string& line) {
  remember(line);
  std::fputs(line.c_str(), file_);
  std::fflush(file_);
}

void RunLog::scalar(int64_t update, const std::string& name, double value) {
  if (std::isfinite(value)) show([&] { events_->scalar(name, update, value); });
}

void RunLog::show(const std::function<void()>& event) {
  try {
    event();
  } catch (const Error&) {
    // E.g. a full disk: a logging error must not end the run.
  }
}

void RunLog::training(const TrainingPoint& point) {
  Json json = {{kUpdate, point.update}, {"epoch", point.epoch}, {"loss", point.loss}};
  if (point.accuracy >= 0) json["accuracy"] = point.accuracy;
  json["learning_rate"] = point.learning_rate;
  json["gradient_norm"] = point.gradient_norm;
  json["positions_per_second"] = point.positions_per_second;
  json["waiting"] = point.waiting;
  json["seconds"] = point.seconds;
  write(to_line(json));
  for (const auto& [name, value] : json.items())
    if (name != kUpdate) scalar(point.update, "train/" + name, value.get<double>());
}

void RunLog::evaluation(int64_t update, const Scores& scores) {
  Json json = {{kUpdate, update}};
  for (const Metric& metric : scores.metrics) {
    json["valid_" + metric_key(metric.name)] = metric.value;
    scalar(update, "valid/" + metric_key(metric.name), metric.value);
  }
  write(to_line(json));
}

void RunLog::note(int64_t update, const std::string& text) {
  write(to_line({{kUpdate, update}, {kNote, text}}));
  show([&] { events_->text("notes", update, text); });
}

void RunLog::sample(int64_t update, const std::string& text) {
  write(to_line({{kUpdate, update}, {kSample, valid_utf8(text)}}));
  show([&] { events_->text("samples", update, valid_utf8(text)); });
}

const RunLog::Points& RunLog::curve(const std::string& name) const {
  static const Points kNone;
  const auto found = curves_.find(name);
  return found == curves_.end() ? kNone : found->second;
}

}  // namespace mega::train
