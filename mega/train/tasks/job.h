// A training job after its data has been loaded: the recipe adapted to the data, sizes, and the task.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mega/config/recipe/presets.h"
#include "mega/ops/torch.h"
#include "mega/train/linear_baseline.h"
#include "mega/train/tasks/task.h"

namespace mega::train {

// Sizes of the largest training batch.
struct LargestBatch {
  int64_t examples = 0, length = 0;
};

class Job {
 public:
  virtual ~Job() = default;

  // The user's recipe, with the options that depend on the data filled in.
  const Recipe& recipe() const { return recipe_; }
  // Training options may still be changed.
  TrainOptions& training() { return recipe_.train; }

  virtual std::string describe() const = 0;  // the data in one line
  // What looks wrong with the data, one line each.
  virtual std::vector<std::string> suspicions() const { return {}; }
  virtual const std::string& checksum() const = 0;
  virtual LargestBatch largest_batch() const = 0;
  // Headline numbers of the data, for the report.
  virtual std::vector<std::pair<std::string, std::string>> summary() const = 0;

  // What simple baselines reach on the same data, found in at most about so many seconds.
  virtual std::vector<BaselineScores> baselines(double /*max_seconds*/) const { return {}; }

  // A task with newly initialised weights; the job must outlive it.
  virtual std::unique_ptr<Task> make_task(torch::Device device) const = 0;

 protected:
  explicit Job(Recipe recipe) : recipe_(std::move(recipe)) {}

  Recipe recipe_;
};

// Loads the data that the recipe names.
std::unique_ptr<Job> make_job(const Recipe& recipe);

}  // namespace mega::train
