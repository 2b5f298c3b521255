// What the training loop knows of a task: batches, their loss, and how good the model is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mega/data/batch_stream.h"
#include "mega/ops/tensor_file.h"
#include "mega/ops/torch.h"
#include "mega/report/run_report.h"

namespace mega::train {

struct BatchLoss {
  torch::Tensor sum;      // differentiable; summed over what the batch counts
  double correct = 0.0;   // of them; meaningless for a regression
  int64_t positions = 0;  // without padding
};

// One figure of an evaluation: accuracy, loss, ...
struct Figure {
  std::string name;
  double value = 0.0;
  double uncertainty = 0.0;  // half a 95 % interval; 0: not known
  bool share = false;        // shown in per cent
};
std::string figure_text(const Figure& figure);  // "accuracy 81.2 % ± 0.5"

// The first figure is what a model is chosen by.
struct Scores {
  std::vector<Figure> figures;
  bool higher_is_better = true;

  bool better_than(const Scores& other) const;
};

class Task {
 public:
  virtual ~Task() = default;

  virtual torch::nn::Module& model() = 0;

  // Fetches the batches of the next update and gives what they count together: the sum of their losses is
  // divided by it.
  virtual int64_t draw(int64_t batches) = 0;
  // The loss of one of them.
  virtual BatchLoss loss(int64_t batch) = 0;
  // Which examples those are, for messages: "train.tsv:17, train.tsv:90, ...".
  virtual std::string examples(int64_t batch) const = 0;

  virtual data::Cursor cursor() const = 0;
  virtual void seek(data::Cursor cursor) = 0;
  virtual int64_t batches_per_epoch() const = 0;
  // Begins again with the first batch, as if nothing had been drawn.
  virtual void restart() { seek({}); }

  // On the validation examples; empty scores where there are none.
  virtual Scores evaluate() = 0;
  // On the test examples, with what the report shall say of them.
  virtual Scores test(Report& report) = 0;
  // What guessing gives in the first figure, e.g. the majority class's share; below 0: not known.
  virtual double chance() const = 0;
  // Adds what the last evaluation found: confusion matrix, worst examples.
  virtual void report(Report& report) const = 0;

  // What goes from one update to the next beside weights and cursor, and is kept in a checkpoint.
  virtual ops::NamedTensors state() const { return {}; }
  virtual void load_state(const Safetensors&) {}

  // Writes the model file with these weights.
  virtual void save(const std::filesystem::path& path, const ops::NamedTensors& weights) const = 0;
};

}  // namespace mega::train
