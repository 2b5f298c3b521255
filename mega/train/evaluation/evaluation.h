// How good a model of whole sequences is on a set of examples.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mega/data/batches.h"
#include "mega/report/run_report.h"
#include "mega/train/evaluation/batch_predictor.h"
#include "mega/train/tasks/task.h"

namespace mega::train {

struct EvaluationOptions {
  int64_t batch_positions = 0;         // as positions_together of a BatchPredictor; 0: the predictor's own
  int64_t max_examples = 0;            // so many, evenly spread over all; 0: all
  int64_t threads = 0;                 // that read examples, as data.threads
  torch::Device device = torch::kCPU;  // of a model
  std::function<void(int64_t done)> progress;
  distributed::World* world = nullptr;  // that shares the work; every process gets the whole evaluation
};

// What the model said of one example.
struct Answer {
  std::vector<float> outputs;  // probabilities of the classes, or the predicted numbers
  double loss = 0.0;
  int64_t length = 0;

  int64_t label() const;              // the most probable class
  int64_t rank(int64_t label) const;  // of a class, by probability: 1 for the most probable one
};

struct Evaluation {
  Objective objective = Objective::classification;
  InputOptions input;             // what the examples are, so that a report can show them
  std::vector<int64_t> examples;  // of the part, in its order
  std::vector<Answer> answers;    // to each of them
  std::vector<int64_t> truth;     // labels
  std::vector<float> targets;
  int64_t positions = 0;
  double seconds = 0.0;

  // accuracy, macro-F1, top-5 of pictures with more classes than that, AUC of two classes, loss; or RMSE, MAE
  // and R².
  Scores scores() const;
  std::vector<std::vector<int64_t>> confusion(int64_t classes) const;  // [truth][said]
  double macro_f1() const;                         // the mean F1 of the classes that have examples
  std::optional<double> area_under_curve() const;  // of two classes, if there are examples of both
};

Evaluation evaluate(BatchPredictor& predictor, const data::Part& part, const data::Encoder& encoder,
                    int documents, const EvaluationOptions& options);
// By TorchPredictor.
Evaluation evaluate(models::SequenceModel& model, const data::Part& part, const data::Encoder& encoder,
                    int documents, const EvaluationOptions& options);

// Confusion matrix, worst and longest examples; of pictures, those of classes that are taken for each other.
void describe(const Evaluation& evaluation, const data::Part& part, const std::vector<std::string>& classes,
              Report& report);

}  // namespace mega::train
