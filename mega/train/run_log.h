// Scores of a run: metrics.jsonl, a TensorBoard event file, and curves for the report.
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mega/report/chart.h"
#include "mega/train/tasks/task.h"

namespace mega {
class EventFile;
}

namespace mega::train {

// Means over the updates since the previous point.
struct TrainingPoint {
  int64_t update = 0;
  double epoch = 0.0, loss = 0.0, accuracy = -1.0;  // accuracy < 0: none
  double learning_rate = 0.0, gradient_norm = 0.0, positions_per_second = 0.0, seconds = 0.0;
  double waiting = 0.0;  // share of the time, for batches
};

class RunLog {
 public:
  // Continues the log of a run after `update` updates: later entries are dropped, because those updates will
  // be repeated.
  RunLog(std::filesystem::path folder, int64_t update);
  ~RunLog();

  void training(const TrainingPoint& point);
  void evaluation(int64_t update, const Scores& scores);
  void note(int64_t update, const std::string& text);
  void sample(int64_t update, const std::string& text);

  using Points = std::vector<Point>;
  const Points& curve(const std::string& name) const;  // "loss", "valid_accuracy", ...
  const std::vector<std::string>& notes() const { return notes_; }
  const std::vector<std::pair<int64_t, std::string>>& samples() const { return samples_; }  // update, text

 private:
  void remember(const std::string& line);
  void write(const std::string& line);
  void scalar(int64_t update, const std::string& name, double value);
  static void show(const std::function<void()>& event);

  std::filesystem::path folder_;
  std::FILE* file_ = nullptr;
  std::unique_ptr<EventFile> events_;
  std::map<std::string, Points> curves_;
  std::vector<std::string> notes_;
  std::vector<std::pair<int64_t, std::string>> samples_;
};

}  // namespace mega::train
