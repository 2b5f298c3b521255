#include "mega/train/tasks/translation_task.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "mega/base/random.h"
#include "mega/baselines/model_builders.h"
#include "mega/data/parallel/pair_source.h"
#include "mega/train/saved_model.h"

namespace mega::train {
namespace {

// The pairs that a reading translates.
int64_t translated_pairs(const data::PairPart& part, const PairReading& reading) {
  return reading.translated < 0 ? part.size() : std::min(reading.translated, part.size());
}

// What reading and translating a part costs, in steps. To write a token takes a step of every hypothesis, and
// such steps are smaller products, which take longer.
int64_t steps(const data::PairPart& part, const PairReading& reading) {
  constexpr double kWriting = 4.0;
  if (part.empty()) return 0;
  const auto tokens = static_cast<double>(part.target.text().size());
  const double share =
      static_cast<double>(translated_pairs(part, reading)) / static_cast<double>(part.size());
  return static_cast<int64_t>(tokens * (1.0 + kWriting * static_cast<double>(reading.search.beam) * share));
}

// The reading of a part, less of both where it would take more than its share of the steps.
PairReading limited(const data::PairPart& part, PairReading reading, double share) {
  if (share >= 1.0) return reading;
  const auto some = [&](int64_t pairs) {
    return pairs == 0 ? 0 : std::max<int64_t>(1, static_cast<int64_t>(share * static_cast<double>(pairs)));
  };
  reading.translated = some(translated_pairs(part, reading));
  reading.pairs = some(part.size());
  return reading;
}

double share_of(int64_t limit, int64_t all) {
  return limit > 0 ? static_cast<double>(limit) / static_cast<double>(std::max<int64_t>(1, all)) : 1.0;
}

PairReading tested() {
  PairReading reading;
  reading.translated = -1;
  return reading;
}

}  // namespace

TranslationTask::TranslationTask(const Recipe& recipe, const data::ParallelCorpus& corpus,
                                 Signature signature, torch::Device device)
    : recipe_(recipe),
      corpus_(corpus),
      signature_(std::move(signature)),
      target_(target_text(std::get<TranslationInput>(signature_.input.input)), corpus.tokenizers.target),
      device_(device) {
  torch::manual_seed(stream_seed(static_cast<uint64_t>(recipe.train.seed), "weights"));
  model_ = baselines::make_translation_model(recipe.model);
  model_->to(device);
  seek({});
}

std::unique_ptr<data::BatchSource> TranslationTask::make_source() const {
  const TrainOptions& train = recipe_.train;
  return std::make_unique<data::PairSource>(
      corpus_.train, data::BatchOptions{train.batch, train.batch_unit, train.by_length},
      static_cast<uint64_t>(train.seed));
}

int64_t TranslationTask::count(const data::Batch& batch) const {
  const std::vector<int64_t>& lengths = batch.targets.sequences.lengths;
  return std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
}

BatchLoss TranslationTask::batch_loss(int64_t number) {
  const data::Batch& batch = drawn(number).batch;
  BatchLoss result;
  result.positions = count(batch);
  result.sum = target_losses(*model_, batch, recipe_.train.label_smoothing, device_).sum();
  return result;
}

PairReading TranslationTask::validation() const {
  const TranslationPlan& plan = recipe_.train.translation;
  PairReading reading;
  reading.translated = plan.sentences;
  reading.search.beam = plan.beam;
  return reading;
}

EvaluationSizes TranslationTask::evaluation_sizes() const {
  EvaluationSizes sizes;
  sizes.valid = steps(corpus_.valid, validation());
  for (const data::PairPart& test : corpus_.tests) sizes.test += steps(test, tested());
  return sizes;
}

PairEvaluation TranslationTask::evaluate_on(const data::PairPart& part, std::span<const data::Pair> written,
                                            const PairReading& reading) {
  PairReading here = reading;
  here.device = device_;
  here.world = world();
  PairEvaluation evaluation = evaluate_pairs(model_, part, written, target_, here);
  model_->train();
  return evaluation;
}

Scores TranslationTask::evaluate() {
  const data::PairPart& part = corpus_.valid;
  if (part.empty()) return {};
  const double share = share_of(limits_.valid, evaluation_sizes().valid);
  const PairReading reading = limited(part, validation(), share);
  if (reading.translated != 0 && written_.empty()) written_ = data::written_pairs(part);
  PairEvaluation evaluation = evaluate_on(part, written_, reading);
  translations_ = std::move(evaluation.translations);
  return evaluation.scores(recipe_.train.translation.select);
}

std::string TranslationTask::sample() {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, translations_.size()); ++i) {
    const Translation& one = translations_[i];
    text += (i > 0 ? "\n\n" : "") + one.source + "\n→ " + one.translation + "\n= " + one.reference;
  }
  return text;
}

Scores TranslationTask::test(Report&) {
  Scores scores;
  const double share = share_of(limits_.test, evaluation_sizes().test);
  for (const data::PairPart& part : corpus_.tests) {
    if (part.empty()) continue;
    const PairEvaluation evaluation =
        evaluate_on(part, data::written_pairs(part), limited(part, tested(), share));
    for (Metric metric : evaluation.scores(TranslationScore::bleu).metrics) {
      if (corpus_.tests.size() > 1) metric.name += " " + part.name();
      scores.metrics.push_back(std::move(metric));
    }
  }
  return scores;
}

void TranslationTask::save(const std::filesystem::path& path, const ops::NamedTensors& weights) const {
  save_model(path, recipe_.model, signature_, weights, {{kDataChecksum, corpus_.checksum}});
}

}  // namespace mega::train
