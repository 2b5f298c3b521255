#include "mega/train/sequence_task.h"

#include <algorithm>
#include <cmath>

#include "mega/base/error.h"
#include "mega/base/random.h"
#include "mega/base/strings.h"
#include "mega/baselines/model_builders.h"
#include "mega/data/example_source.h"
#include "mega/data/vocabulary.h"
#include "mega/train/batch_tensors.h"
#include "mega/train/initial_tokenizer.h"
#include "mega/train/saved_model.h"

namespace mega::train {

using torch::Tensor;

namespace {

const SequenceOptions& shared_options(const ModelOptions& options) {
  const SequenceOptions* shared = sequence_options(options);
  require(shared != nullptr, "this command works on classifiers, matchers and their Transformer only");
  return *shared;
}

// The vocabulary for these texts; empty where it is fixed, or there are no texts.
std::string find_vocabulary(const Recipe& recipe, const data::Dataset& dataset) {
  const TokenizerOptions* options = tokenizer_options(recipe.input);
  if (options == nullptr) return "";
  if (!has_fixed_vocabulary(options->units))
    if (const auto initial = initial_tokenizer(recipe)) return initial->vocabulary();
  // A data set that is only looked at may have no training texts.
  const data::Part& part = dataset.train.size() > 0   ? dataset.train
                           : dataset.valid.size() > 0 ? dataset.valid
                                                      : dataset.test;
  return data::learn_vocabulary(*options, part)->vocabulary();
}

}  // namespace

data::DatasetRequest dataset_request(const Recipe& recipe, std::vector<std::string> classes) {
  data::DatasetRequest request;
  request.data = recipe.data;
  request.input = recipe.input;
  request.pairs = recipe.model.kind().document_count() == 2;
  request.whole = recipe.augment.crop;
  request.objective = shared_options(recipe.model).objective;
  request.classes = std::move(classes);
  return request;
}

void fit_recipe(Recipe& recipe, const data::Dataset& dataset) {
  SequenceOptions* shared = sequence_options(recipe.model);
  require(shared != nullptr, "only models of whole sequences are trained on labelled examples");
  require(dataset.outputs >= 1, "the training examples have nothing to predict");
  require(shared->objective == Objective::regression || dataset.outputs >= 2,
          "all examples belong to one class, ",
          in_quotes(dataset.classes.empty() ? "" : dataset.classes.front()),
          ": there is nothing to tell apart");
  shared->classes = dataset.outputs;
  if (const auto* series = std::get_if<SeriesInput>(&recipe.input.input)) shared->channels = series->channels;
  check_input(recipe.input, *shared);
}

Signature make_signature(const Recipe& recipe, const data::Dataset& dataset) {
  Signature signature;
  signature.input = recipe.input;
  signature.data = recipe.data;
  signature.data.memory = DataOptions().memory;  // of this machine, not of the model
  signature.classes = dataset.classes;
  fit_statistics(signature, dataset.train);
  signature.vocabulary = find_vocabulary(recipe, dataset);
  if (dataset.train.targets.empty()) return signature;
  const auto outputs = static_cast<size_t>(dataset.outputs);
  const double n = static_cast<double>(dataset.train.size());
  for (size_t k = 0; k < outputs; ++k) {
    double sum = 0.0, squares = 0.0;
    for (size_t i = k; i < dataset.train.targets.size(); i += outputs) {
      const double x = static_cast<double>(dataset.train.targets[i]);
      sum += x;
      squares += x * x;
    }
    const double mean = sum / n, variance = std::max(0.0, squares / n - mean * mean);
    signature.target_mean.push_back(static_cast<float>(mean));
    signature.target_deviation.push_back(static_cast<float>(variance > 0 ? std::sqrt(variance) : 1.0));
  }
  return signature;
}

void fit_vocabulary(Recipe& recipe, const Signature& signature) {
  const TokenizerOptions* options = tokenizer_options(recipe.input);
  if (options == nullptr || has_fixed_vocabulary(options->units)) return;
  const int64_t types = make_tokenizer(signature, INT64_MAX)->size();
  sequence_options(recipe.model)->vocabulary = embedding_count(types, kReservedTokens);
}

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
      encoder_(std::move(signature), cls_token(*sequence_options(recipe.model))),
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
      data::BatchOptions{train.batch, train.batch_unit, train.by_length, documents_, recipe_.augment},
      static_cast<uint64_t>(train.seed));
}

BatchLoss SequenceTask::loss(int64_t number) {
  const data::Batch& batch = drawn(number).batch;
  const Tensor said = model_->predict(to_sequences(batch, device_));
  BatchLoss result;
  result.positions = batch.positions;
  if (shared_options(recipe_.model).objective == Objective::regression) {
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

Scores SequenceTask::evaluate() {
  if (dataset_.valid.empty()) return {};
  EvaluationOptions options;
  options.device = device_;
  options.max_examples = limits_.valid;
  last_evaluation_ = train::evaluate(*model_, dataset_.valid, encoder_, documents_, options);
  return last_evaluation_.scores();
}

Scores SequenceTask::test(Report& report) {
  if (dataset_.test.empty()) return {};
  EvaluationOptions options;
  options.device = device_;
  options.max_examples = limits_.test;
  const Evaluation evaluation = train::evaluate(*model_, dataset_.test, encoder_, documents_, options);
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
