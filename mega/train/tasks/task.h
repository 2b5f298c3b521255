// The interface between the training loop and a task: batches, loss and evaluation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mega/base/error.h"
#include "mega/config/tensor_info.h"
#include "mega/data/batch_stream.h"
#include "mega/distributed/world.h"
#include "mega/ops/tensor_file.h"
#include "mega/ops/torch.h"
#include "mega/report/run_report.h"
#include "mega/train/evaluation/metrics.h"
#include "mega/train/time_budget.h"

namespace mega::train {

struct BatchLoss {
  torch::Tensor sum;      // differentiable; summed over the batch's examples or tokens
  double correct = 0.0;   // number of correct ones; unused for regression
  int64_t positions = 0;  // without padding
};

class Task {
 public:
  virtual ~Task() = default;

  virtual torch::nn::Module& model() = 0;
  // The table of the model's tensors, which says how each of them learns.
  virtual std::vector<TensorInfo> tensors() const = 0;

  // Takes part in a run of several processes, before the first batch is drawn: this one draws its share of
  // each batch, and evaluations are shared. What is below is called by all processes together.
  virtual void enter(distributed::World&) { fail("this task runs in one process"); }
  // Leaves it again: what follows is done alone.
  virtual void leave() {}

  // Fetches the batches of the next update and returns their total number of examples or tokens, of all
  // processes, by which the sum of their losses is divided.
  virtual int64_t draw(int64_t batches) = 0;
  // The loss of one of them; without a sum where this process has no share in it.
  virtual BatchLoss loss(int64_t batch) = 0;
  // The examples of a batch, for messages: "train.tsv:17, train.tsv:90, ...".
  virtual std::string examples(int64_t batch) const = 0;

  virtual data::Cursor cursor() const = 0;
  virtual void seek(data::Cursor cursor) = 0;
  virtual int64_t batches_per_epoch() const = 0;
  // Restarts with the first batch.
  virtual void restart() { seek({}); }

  virtual const char* unit() const = 0;  // what evaluations count: "examples" or "tokens"
  virtual EvaluationSizes evaluation_sizes() const = 0;
  // Read at most so much; 0: everything.
  virtual void limit_evaluations(const EvaluationSizes& most) = 0;

  // Evaluates on the validation examples; empty scores if there are none.
  virtual Scores evaluate() = 0;
  // What the model writes now, for people to read; empty: it does not write.
  virtual std::string sample() { return ""; }
  // Evaluates on the test examples and adds the results to the report.
  virtual Scores test(Report& report) = 0;
  // The first metric at chance level, e.g. the share of the majority class; < 0: unknown.
  virtual double chance() const = 0;
  // Adds the results of the last evaluation: confusion matrix, worst examples.
  virtual void report(Report& report) const = 0;

  // Training state besides weights and cursor, saved in checkpoints.
  virtual ops::NamedTensors state() const { return {}; }
  virtual void load_state(const Safetensors&) {}

  // Writes the model file with these weights.
  virtual void save(const std::filesystem::path& path, const ops::NamedTensors& weights) const = 0;
};

}  // namespace mega::train
