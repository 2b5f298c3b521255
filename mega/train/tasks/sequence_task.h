// Classification and regression of whole sequences, of pairs, and of pictures.
#pragma once

#include <memory>

#include "mega/config/recipe/presets.h"
#include "mega/config/recipe/shared_sequences.h"
#include "mega/data/dataset.h"
#include "mega/data/recipe_data.h"
#include "mega/models/sequence_model.h"
#include "mega/train/evaluation/evaluation.h"
#include "mega/train/tasks/batch_task.h"

namespace mega::train {

// Cross entropy of scores (B, classes), summed over the batch, with the classes or else the soft
// distributions of the targets.
struct ClassLoss {
  torch::Tensor sum;
  double correct = 0.0;  // examples whose most probable class is the target's
};
ClassLoss class_loss(const torch::Tensor& said, const data::Targets& targets, double smoothing);

class SequenceTask : public BatchTask {
 public:
  // The data set must outlive the task. Weights are drawn from the recipe's seed.
  SequenceTask(const Recipe& recipe, const data::Dataset& dataset, Signature signature, torch::Device device);

  ~SequenceTask() override { stop(); }

  torch::nn::Module& model() override { return *model_; }
  std::vector<TensorInfo> tensors() const override { return recipe_.model.kind().tensors(); }
  models::SequenceModel& sequence_model() { return *model_; }
  const data::Encoder& encoder() const { return encoder_; }

  const char* unit() const override { return "examples"; }
  EvaluationSizes evaluation_sizes() const override { return {dataset_.valid.size(), dataset_.test.size()}; }
  void limit_evaluations(const EvaluationSizes& most) override { limits_ = most; }
  Scores evaluate() override;
  Scores test(Report& report) override;
  double chance() const override;
  void report(Report& report) const override;
  void save(const std::filesystem::path& path, const ops::NamedTensors& weights) const override;

 protected:
  std::unique_ptr<data::BatchSource> make_source() const override;
  BatchLoss batch_loss(int64_t batch) override;
  int64_t piece_unit() const override { return mega::piece_unit(recipe_); }
  int64_t count(const data::Batch& batch) const override { return batch.size(); }

 private:
  Evaluation evaluation_of(const data::Part& part, int64_t most);

  Recipe recipe_;
  const data::Dataset& dataset_;
  data::Encoder encoder_;
  int documents_;
  torch::Device device_;
  std::shared_ptr<models::SequenceModel> model_;
  EvaluationSizes limits_;
  Evaluation last_evaluation_;
};

}  // namespace mega::train
