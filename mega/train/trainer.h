// The training loop: updates, evaluations, checkpoints and progress output.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mega/config/recipe/train_options.h"
#include "mega/distributed/gradient_sum.h"
#include "mega/distributed/parameter_shares.h"
#include "mega/distributed/world.h"
#include "mega/report/progress.h"
#include "mega/report/run_report.h"
#include "mega/train/adamw.h"
#include "mega/train/checkpoint.h"
#include "mega/train/loss_watch.h"
#include "mega/train/run_clock.h"
#include "mega/train/run_log.h"
#include "mega/train/tasks/task.h"
#include "mega/train/time_budget.h"
#include "mega/train/weight_average.h"

namespace mega::train {

struct RunSettings {
  std::filesystem::path folder;     // the run directory; must exist
  bool resume = false;              // continue from its newest checkpoint, if it has one
  double flops_per_position = 0.0;  // forward and backward, to show the share of the sgemm rate; 0: not shown
  double sgemm_gflops = 0.0;
  RunClock clock;  // made when this session began
  // For a time budget (train.time): what an update took before the first one.
  UpdateCost update_cost;
  Report report;  // known before the run: title, command, configuration
  // The processes of the run, which the task has joined; null: this one alone. Rank 0 writes the run
  // directory.
  distributed::World* world = nullptr;
};

struct Outcome {
  TrainingState state;
  int signal = 0;              // the signal that stopped the run; 0: it finished
  bool stopped_early = false;  // no improvement for `patience` evaluations
};

// The precision of a run's updates, f32 or bf16: what is asked for, as far as the CPUs of all its processes
// have it. Processes call it together.
Precision update_precision(Precision asked, distributed::World* world);

// The run directory contains metrics.jsonl, an event file, report.html, checkpoints/, and model.safetensors:
// the best model so far on the validation data, or the last one if there is none.
class Trainer {
 public:
  Trainer(Task& task, const TrainOptions& options, RunSettings settings);

  Outcome run();

  // Writes report.html; `test` adds headline metrics and replaces the examples of the last evaluation.
  void write_report(const Report* test = nullptr);

 private:
  struct Window {  // sums since the last logged point
    double loss = 0.0, correct = 0.0, gradient_norm = 0.0, seconds = 0.0, waiting = 0.0;
    int64_t count = 0, updates = 0, positions = 0;
  };

  bool leads() const { return settings_.world == nullptr || settings_.world->leads(); }
  template <class Value>
  Value lead(Value value) const {
    return settings_.world == nullptr ? value : settings_.world->lead(value);
  }
  // What happened in an update. Of several processes, their sums, and the time of rank 0.
  struct Happened {
    double loss = 0.0, correct = 0.0, seconds = 0.0;
    int64_t positions = 0;
  };
  double seconds_waited() const;  // for other processes, so far, whatever for
  Happened together(const Happened& own);
  void describe_processes(Report& report) const;

  void restore();
  void update();
  void start_budget();
  void plan();
  double evaluation_period() const;
  void limit_test();
  void log_window();
  void evaluate();
  bool out_of_patience() const;
  void checkpoint();
  void say(const std::string& line);
  std::string advice_at_chance() const;
  void warn_of_waiting();
  double epoch() const;
  bool is_due(const std::string& period, double epoch_before, double& last_seconds) const;
  void seed_update() const;
  void require_finite_weights() const;
  [[noreturn]] void fail_not_finite();
  [[noreturn]] void fail_with_advice(int64_t update, const std::string& what) const;
  // Write errors, such as a full disk, do not end a run: prints a warning and returns false.
  bool attempt(const std::string& what, const std::function<void()>& write);
  std::vector<std::string> progress_details() const;

  Task& task_;
  TrainOptions options_;
  RunSettings settings_;
  std::unique_ptr<distributed::ParameterShares> shares_;  // if processes share the optimiser's state
  AdamW optimizer_;
  WeightAverage average_;
  TrainingState state_;
  LossWatch loss_watch_;
  std::unique_ptr<distributed::GradientSum> gradients_;  // with several processes
  struct ProcessSpeed {
    double seconds = 0.0, waited = 0.0, bytes = 0.0;  // of updates; for the others; sent
  };
  std::vector<ProcessSpeed> speeds_;  // of each process, up to the last update
  double waited_ = 0.0;               // for other processes, in updates
  int signal_ = 0;                    // that came to one of them
  std::unique_ptr<RunLog> log_;
  std::unique_ptr<Progress> bar_;
  Window window_, shown_;
  std::optional<Scores> last_scores_;
  int64_t saved_update_ = -1;
  bool model_saved_ = true;  // whether the best model so far is saved
  double last_evaluation_seconds_ = 0.0, last_checkpoint_seconds_ = 0.0;
  std::optional<TimeBudget> budget_;  // with train.time
};

}  // namespace mega::train
