// Compares two models on the same data, such as a quantised model with its original.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "mega/data/corpus/token_file.h"
#include "mega/data/dataset.h"
#include "mega/infer/models/language_model.h"
#include "mega/infer/models/score.h"
#include "mega/infer/models/sequence_model.h"
#include "mega/infer/thread_pool.h"

namespace mega::infer {

// Similarity of two distributions over the same choices, averaged over tokens or examples.
struct Agreement {
  double divergence = 0.0;  // Kullback-Leibler divergence of the second model from the first, in nats
  double same = 0.0;        // share where both have the same most likely choice
};

// For one pair of distributions, given by logits: `same` is 0 or 1. Error if they are not finite.
Agreement compare_logits(std::span<const float> before, std::span<const float> after);

struct TextQuality {
  ScoreResult before, after;
  Agreement agreement;
};

struct ExampleQuality {
  int64_t examples = 0;
  double before = 0.0, after = 0.0;    // accuracy, or root mean squared error for regression
  std::optional<Agreement> agreement;  // for classification only
};

struct ComparisonOptions {
  int64_t limit = 0;  // read only this many tokens or examples; 0: all
  std::function<void(int64_t done)> progress;
};

// Both models read the text as one stream. If it is not read to its end, the part read is assumed to have as
// many characters and bytes per token as the whole.
TextQuality compare_on_text(const LanguageModel& before, const LanguageModel& after,
                            const data::TokenView& text, ThreadPool& pool, const ComparisonOptions& options);

ExampleQuality compare_on_examples(const SequenceModel& before, const SequenceModel& after,
                                   const data::Part& part, ThreadPool& pool,
                                   const ComparisonOptions& options);

}  // namespace mega::infer
