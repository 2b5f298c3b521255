#include "mega/train/tasks/language_task.h"

#include <chrono>

#include "mega/base/error.h"
#include "mega/base/random.h"
#include "mega/baselines/model_builders.h"
#include "mega/data/corpus/beginning.h"
#include "mega/data/corpus/block_source.h"
#include "mega/distributed/gather.h"
#include "mega/infer/generation/generate.h"
#include "mega/models/padding.h"
#include "mega/models/token_predictor.h"
#include "mega/train/batch_tensors.h"
#include "mega/train/saved_model.h"

namespace mega::train {
namespace {

using torch::Tensor;

constexpr const char* kCarried = "carried.";

Metric metric(const char* name, const infer::Estimate& estimate) {
  return {name, estimate.value, estimate.uncertainty.value_or(0.0), false};
}

}  // namespace

Scores text_scores(const infer::ScoreResult& result, TextUnits units) {
  Scores scores;
  scores.higher_is_better = false;
  switch (units) {
    case TextUnits::bytes:
      scores.metrics = {metric("bits per byte", result.bits_per_byte)};
      break;
    case TextUnits::characters:
      scores.metrics = {metric("bits per character", result.bits_per_character)};
      break;
    default:
      scores.metrics = {metric("perplexity", result.perplexity),
                        metric("bits per byte", result.bits_per_byte)};
  }
  scores.metrics.push_back(metric("loss", result.nats_per_token));
  return scores;
}

LanguageTask::LanguageTask(const Recipe& recipe, const data::Corpus& corpus, torch::Device device)
    : recipe_(recipe), corpus_(corpus), device_(device) {
  torch::manual_seed(stream_seed(static_cast<uint64_t>(recipe.train.seed), "weights"));
  model_ = baselines::make_token_model(recipe.model);
  model_->to(device);
  seek({});
}

std::unique_ptr<data::BatchSource> LanguageTask::make_source() const {
  const TrainOptions& train = recipe_.train;
  return std::make_unique<data::BlockSource>(
      corpus_.train, block_plan(recipe_), data::BatchOptions{train.batch, train.batch_unit, train.by_length},
      static_cast<uint64_t>(train.seed));
}

int64_t LanguageTask::draw(int64_t batches) {
  carried_ = carried();
  after_.clear();
  const int64_t total = BatchTask::draw(batches);
  if (recipe_.train.blocks.carry)
    for (int64_t i = 0; i < batches; ++i)
      require(
          !drawn(i).batch.stand_in,
          "train.blocks.carry: there are fewer texts side by side than processes: raise train.batch, or use "
          "fewer processes");
  return total;
}

void LanguageTask::restart() {
  BatchTask::restart();
  carried_ = {};
  after_.clear();
}

BatchLoss LanguageTask::batch_loss(int64_t number) {
  const Drawn& drawn = this->drawn(number);
  const models::Sequences input = to_sequences(drawn.batch.inputs.front(), device_);
  const Tensor mask = models::Padding(input, /*channels=*/1).mask();
  Tensor features;
  if (recipe_.train.blocks.carry) {
    after_.resize(static_cast<size_t>(number));
    nn::State state = drawn.begins_epoch ? nn::State() : carried();
    features = model_->features(input.values, mask, &state);
    after_.push_back(nn::detach(state));
  } else {
    features = model_->features(input.values, mask);
  }
  features = features.flatten(0, 1);
  Tensor targets = to_sequences(drawn.batch.targets.sequences, device_).values.flatten();
  if (mask.defined() && !drawn.batch.stand_in) {
    const Tensor real = mask.flatten().logical_not().nonzero().squeeze(1);
    features = features.index_select(0, real);
    targets = targets.index_select(0, real);
  }
  BatchLoss result;
  result.positions = drawn.batch.positions;
  result.sum = model_->losses(features, targets).sum();
  return result;
}

Scores LanguageTask::evaluate_on(const data::TokenView& whole, int64_t limit) {
  if (whole.empty()) return {};
  const data::TokenView text = limit > 0 ? beginning_of(whole, limit, *corpus_.tokenizer) : whole;
  TextReading reading;
  reading.device = device_;
  reading.world = world();
  const TextEvaluation evaluation = evaluate_text(*model_, recipe_.model.kind().reading(), text, reading);
  model_->train();
  return text_scores(evaluation.score, language_input(recipe_).units);
}

Scores LanguageTask::evaluate() { return evaluate_on(corpus_.valid, limits_.valid); }

// Always the same random numbers, so that samples of different updates differ by what was learnt.
std::string LanguageTask::sample() {
  constexpr double kLongest = 1.0;  // seconds
  infer::GenerateOptions options;
  options.max_tokens = 200;
  options.sampler.temperature = 0.8;
  const auto start = std::chrono::steady_clock::now();
  const auto go_on = [&](std::string_view) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < kLongest;
  };
  const torch::NoGradGuard guard;
  models::TokenPredictor predictor(model_, recipe_.model.kind().reading(), device_);
  const std::string text = infer::generate(predictor, *corpus_.tokenizer, {}, options, go_on).text;
  model_->train();
  return text;
}

Scores LanguageTask::test(Report&) { return evaluate_on(corpus_.test, limits_.test); }

ops::NamedTensors LanguageTask::state() const {
  ops::NamedTensors tensors = nn::to_tensors(carried(), kCarried);
  if (world() != nullptr)
    for (auto& [name, tensor] : tensors)
      if (tensor.dim() > 1) tensor = distributed::gather_dealt(*world(), tensor);  // a row of each text
  return tensors;
}

void LanguageTask::load_state(const Safetensors& file) {
  carried_ = nn::from_tensors(file, kCarried);
  after_.clear();
  if (world() == nullptr || carried_.blocks.empty()) return;
  const int64_t rows = carried_.blocks.front().attention.ema.size(0);
  carried_ = nn::reorder(carried_, torch::arange(world()->rank(), rows, world()->size()));
}

void LanguageTask::save(const std::filesystem::path& path, const ops::NamedTensors& weights) const {
  Signature signature;
  signature.input = recipe_.input;
  signature.data = recipe_.data;
  signature.vocabulary = corpus_.tokenizer->vocabulary();
  save_model(path, recipe_.model, signature, weights, {{kDataChecksum, corpus_.checksum}});
}

}  // namespace mega::train
