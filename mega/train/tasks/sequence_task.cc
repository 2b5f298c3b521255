#include "mega/train/tasks/sequence_task.h"

#include <algorithm>
#include <cmath>

#include "mega/base/random.h"
#include "mega/baselines/model_builders.h"
#include "mega/data/example_source.h"
#include "mega/train/batch_tensors.h"
#include "mega/train/saved_model.h"

namespace mega::train {

using torch::Tensor;

ClassLoss class_loss(const Tensor& said, const data::Targets& targets, double smoothing) {
  const Tensor log_probability = torch::log_softmax(said, 1);
  Tensor labels, own;
  if (targets.soft.empty()) {
    labels = torch::tensor(targets.classes).to(said.device());
    own = -log_probability.gather(1, labels.unsqueeze(1)).sum();
  } else {
    const Tensor soft = torch::tensor(targets.soft).view(said.sizes()).to(said.device());
    labels = soft.argmax(1);
    own = -(soft * log_probability).sum();
  }
  ClassLoss loss;
  // (1 - e) nll + e / classes sum of all, as released.
  loss.sum = smoothing > 0.0 ? (1.0 - smoothing) * own -
                                   smoothing / static_cast<double>(said.size(1)) * log_probability.sum()
                             : own;
  loss.correct = static_cast<double>((said.detach().argmax(1) == labels).sum().item<int64_t>());
  return loss;
}

SequenceTask::SequenceTask(const Recipe& recipe, const data::Dataset& dataset, Signature signature,
                           torch::Device device)
    : recipe_(recipe),
      dataset_(dataset),
      encoder_(std::move(signature), cls_token(recipe.model)),
      documents_(static_cast<int>(recipe.model.kind().document_count())),
      device_(device) {
  torch::manual_seed(stream_seed(static_cast<uint64_t>(recipe.train.seed), "weights"));
  model_ = baselines::make_sequence_model(recipe.model);
  model_->to(device);
  seek({});
}

std::unique_ptr<data::BatchSource> SequenceTask::make_source() const {
  const TrainOptions& train = recipe_.train;
  return std::make_unique<data::ExampleSource>(
      dataset_.train, encoder_,
      data::BatchOptions{train.batch, train.batch_unit, train.by_length, documents_, recipe_.augment,
                         recipe_.data.threads},
      static_cast<uint64_t>(train.seed));
}

BatchLoss SequenceTask::batch_loss(int64_t number) {
  const data::Batch& batch = drawn(number).batch;
  const Tensor said = model_->predict(to_sequences(batch, device_));
  BatchLoss result;
  result.positions = batch.positions;
  if (predictor_options(recipe_.model)->objective == Objective::regression) {
    const Signature& signature = encoder_.signature();
    const Tensor mean = torch::tensor(signature.target_mean),
                 deviation = torch::tensor(signature.target_deviation);
    const Tensor targets = (torch::tensor(batch.targets.numbers).view({batch.size(), -1}) - mean) / deviation;
    result.sum = (said - targets.to(device_)).square().mean(1).sum();
    return result;
  }
  const ClassLoss loss = class_loss(said, batch.targets, recipe_.train.label_smoothing);
  result.sum = loss.sum;
  result.correct = loss.correct;
  return result;
}

Evaluation SequenceTask::evaluation_of(const data::Part& part, int64_t most) {
  EvaluationOptions options;
  options.device = device_;
  options.world = world();
  options.max_examples = most;
  options.threads = recipe_.data.threads;
  return train::evaluate(*model_, part, encoder_, documents_, options);
}

Scores SequenceTask::evaluate() {
  if (dataset_.valid.empty()) return {};
  last_evaluation_ = evaluation_of(dataset_.valid, limits_.valid);
  return last_evaluation_.scores();
}

Scores SequenceTask::test(Report& report) {
  if (dataset_.test.empty()) return {};
  const Evaluation evaluation = evaluation_of(dataset_.test, limits_.test);
  describe(evaluation, dataset_.test, dataset_.classes, report);
  return evaluation.scores();
}

double SequenceTask::chance() const {
  if (dataset_.valid.labels.empty()) return -1.0;
  std::vector<int64_t> counts(dataset_.classes.size(), 0);
  for (const int64_t label : dataset_.valid.labels) ++counts[static_cast<size_t>(label)];
  return static_cast<double>(*std::max_element(counts.begin(), counts.end())) /
         static_cast<double>(dataset_.valid.size());
}

void SequenceTask::report(Report& report) const {
  if (!last_evaluation_.answers.empty()) describe(last_evaluation_, dataset_.valid, dataset_.classes, report);
}

void SequenceTask::save(const std::filesystem::path& path, const ops::NamedTensors& weights) const {
  save_model(path, recipe_.model, encoder_.signature(), weights, {{kDataChecksum, dataset_.checksum}});
}

}  // namespace mega::train
