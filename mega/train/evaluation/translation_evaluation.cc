#include "mega/train/evaluation/translation_evaluation.h"

#include <algorithm>
#include <cmath>

#include "mega/data/parallel/pair_source.h"
#include "mega/distributed/gather.h"
#include "mega/infer/translation/beam_search.h"
#include "mega/models/padding.h"
#include "mega/models/translation_decoder.h"
#include "mega/text/metrics/bootstrap.h"
#include "mega/train/batch_tensors.h"
#include "mega/train/evaluation/spread.h"

namespace mega::train {
namespace {

using torch::Tensor;

// The batches, as numbers of pairs.
std::vector<std::vector<int64_t>> plan(const data::PairPart& part, const std::vector<int64_t>& pairs,
                                       int64_t positions) {
  const std::vector<int64_t> all = data::pair_lengths(part);
  std::vector<int64_t> lengths;
  for (const int64_t pair : pairs) lengths.push_back(all[static_cast<size_t>(pair)]);
  auto batches = data::plan_once(lengths, {positions, BatchUnit::tokens});
  for (std::vector<int64_t>& batch : batches)
    for (int64_t& number : batch) number = pairs[static_cast<size_t>(number)];
  return batches;
}

std::vector<Token> tokens_of(const data::TokenLines& lines, int64_t number) {
  const data::Block line = lines.line(number);
  std::vector<Token> tokens(static_cast<size_t>(line.size()));
  lines.text().file->copy(line.begin, line.size(), tokens.data());
  return tokens;
}

// Whether a piece of work is this process's.
bool own_turn(const PairReading& reading, int64_t turn) {
  return reading.world == nullptr || turn % reading.world->size() == reading.world->rank();
}

std::vector<Translation> translate(const std::shared_ptr<models::TranslationModel>& model,
                                   const data::PairPart& part, std::span<const data::Pair> written,
                                   const TranslationText& text, const std::vector<int64_t>& pairs,
                                   const PairReading& reading) {
  std::vector<infer::SearchSentence> sentences;
  int64_t turn = 0;
  for (const int64_t pair : pairs)
    if (own_turn(reading, turn++))
      sentences.push_back({tokens_of(part.source, pair), {}, static_cast<uint64_t>(pair)});
  models::TranslationDecoder decoder(model, reading.device);
  // Hypotheses of a sentence go through the model side by side.
  const int64_t most = std::max<int64_t>(1, reading.positions / reading.search.beam);
  constexpr int64_t kSentences = 64;
  const std::vector<infer::NBest> found = infer::search_in_batches(
      decoder, sentences, reading.search, kSentences, most, {text.tokenizer().size(), nullptr});
  std::vector<std::string> best;
  for (const infer::NBest& one : found) best.push_back(one.empty() ? "" : text.decode(one.front().tokens));
  if (reading.world != nullptr) best = distributed::gather_dealt(*reading.world, best);
  // Of text that was cut into words when it was written, the reference is joined, too.
  const bool cut = text.options().tokenize == WordCutting::none;
  std::vector<Translation> translations;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const data::Pair& pair = written[static_cast<size_t>(pairs[i])];
    translations.push_back(
        {pair.source, best[i], cut ? TranslationText::restore(pair.target, text.options()) : pair.target});
  }
  return translations;
}

Metric bleu_of(const std::vector<Translation>& translations) {
  std::vector<std::string> hypotheses;
  std::vector<std::vector<std::string>> references(1);
  for (const Translation& one : translations) {
    hypotheses.push_back(one.translation);
    references.front().push_back(one.reference);
  }
  const auto bleu = make_metric(MetricKind::bleu, {});
  const std::vector<std::vector<Statistics>> systems = {corpus_statistics(*bleu, hypotheses, references)};
  const BootstrapResult result = paired_bootstrap(*bleu, systems, {}).front();
  return {"BLEU", result.score, result.ci95, false};
}

}  // namespace

Tensor target_losses(models::TranslationModel& model, const data::Batch& batch, double smoothing,
                     const torch::Device& device) {
  const models::Sequences source = to_sequences(batch.inputs[0], device),
                          target = to_sequences(batch.inputs[1], device);
  const Tensor source_mask = models::Padding(source, /*channels=*/1).mask();
  const Tensor mask = models::Padding(target, /*channels=*/1).mask();
  Tensor features =
      model.features(target.values, mask, model.encode(source.values, source_mask)).flatten(0, 1);
  Tensor targets = to_sequences(batch.targets.sequences, device).values.flatten();
  if (mask.defined()) {
    const Tensor real = mask.flatten().logical_not().nonzero().squeeze(1);
    features = features.index_select(0, real);
    targets = targets.index_select(0, real);
  }
  return model.losses(features, targets, smoothing);
}

Scores PairEvaluation::scores(TranslationScore first) const {
  Scores scores;
  scores.metrics = {{"loss", loss, 0.0, false}, {"perplexity", std::exp(loss), 0.0, false}};
  scores.higher_is_better = first == TranslationScore::bleu;
  if (bleu)
    scores.metrics.insert(scores.higher_is_better ? scores.metrics.begin() : scores.metrics.end(), *bleu);
  return scores;
}

PairEvaluation evaluate_pairs(const std::shared_ptr<models::TranslationModel>& model,
                              const data::PairPart& part, std::span<const data::Pair> written,
                              const TranslationText& target, const PairReading& reading) {
  const torch::NoGradGuard guard;
  model->eval();
  PairEvaluation evaluation;
  double sum = 0.0;
  int64_t turn = 0;
  // 0 and -1 stand for all.
  const auto chosen = [&](int64_t most) {
    return spread(part.size(), most > 0 ? std::min(most, part.size()) : part.size());
  };
  for (const std::vector<int64_t>& pairs : plan(part, chosen(reading.pairs), reading.positions)) {
    if (!own_turn(reading, turn++)) continue;
    const Tensor losses = target_losses(*model, data::make_pair_batch(part, pairs), 0.0, reading.device);
    sum += losses.to(torch::kFloat64).sum().item<double>();
    evaluation.tokens += losses.numel();
  }
  if (reading.world != nullptr) {
    Tensor sums = torch::tensor({sum, static_cast<double>(evaluation.tokens)}, torch::kFloat64);
    reading.world->common().all_reduce_sum(sums);
    sum = sums[0].item<double>();
    evaluation.tokens = static_cast<int64_t>(sums[1].item<double>());
  }
  evaluation.loss = sum / static_cast<double>(std::max<int64_t>(1, evaluation.tokens));
  if (reading.translated == 0) return evaluation;
  evaluation.translations = translate(model, part, written, target, chosen(reading.translated), reading);
  if (!evaluation.translations.empty()) evaluation.bleu = bleu_of(evaluation.translations);
  return evaluation;
}

}  // namespace mega::train
