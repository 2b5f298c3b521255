// How well a translator does on pairs: the loss of their targets, and BLEU of what it writes itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mega/data/batches.h"
#include "mega/data/parallel/pair_tokens.h"
#include "mega/distributed/world.h"
#include "mega/infer/translation/search_options.h"
#include "mega/models/translation_model.h"
#include "mega/ops/torch.h"
#include "mega/text/translation_text.h"
#include "mega/train/evaluation/metrics.h"

namespace mega::train {

// -log p of each target token of a batch of pairs (make_pair_batch), without padding: (tokens).
// Differentiable.
torch::Tensor target_losses(models::TranslationModel& model, const data::Batch& batch, double smoothing,
                            const torch::Device& device);

struct PairReading {
  int64_t pairs = 0;            // whose loss is computed, evenly spread over all; 0: all
  int64_t translated = 0;       // that are translated, in the same way; -1: all, 0: none
  infer::SearchOptions search;  // of translations
  int64_t positions = 1 << 13;  // of a batch, about
  torch::Device device = torch::kCPU;
  distributed::World* world = nullptr;  // that shares the work; every process gets the whole evaluation
};

struct Translation {
  std::string source, translation, reference;
};

struct PairEvaluation {
  double loss = 0.0;  // nats per target token, without label smoothing
  int64_t tokens = 0;
  std::optional<Metric> bleu;  // sacreBLEU's, in its default form; none where nothing was translated
  std::vector<Translation> translations;

  // The score that models are chosen by comes first.
  Scores scores(TranslationScore first) const;
};

// `written`: the pairs of the part as text (data::written_pairs); may be empty where nothing is translated.
// `target` makes text of tokens. The model is left in evaluation mode.
PairEvaluation evaluate_pairs(const std::shared_ptr<models::TranslationModel>& model,
                              const data::PairPart& part, std::span<const data::Pair> written,
                              const TranslationText& target, const PairReading& reading);

}  // namespace mega::train
