// What is lost when one model takes the place of another, such as a quantised one that of its original: both
// read the same.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "mega/data/corpus/token_file.h"
#include "mega/data/dataset.h"
#include "mega/infer/models/classifier.h"
#include "mega/infer/models/language_model.h"
#include "mega/infer/models/score.h"
#include "mega/infer/thread_pool.h"

namespace mega::infer {

// How near two distributions over the same choices are, on average over tokens or examples.
struct Agreement {
  double divergence = 0.0;  // Kullback-Leibler, of the second model from the first, in nats
  double same = 0.0;        // share where both find the same choice the likeliest
};

// The same for one pair of distributions, given by logits: same is 0 or 1. Error where they are no numbers.
Agreement compare_logits(std::span<const float> before, std::span<const float> after);

struct TextQuality {
  ScoreResult before, after;
  Agreement agreement;
};

struct ExampleQuality {
  int64_t examples = 0;
  double before = 0.0, after = 0.0;    // accuracy; of a regression, root of the mean squared error
  std::optional<Agreement> agreement;  // of classes
};

struct ComparisonOptions {
  int64_t limit = 0;  // most tokens or examples that are read, the first ones; 0: all
  std::function<void(int64_t done)> progress;
};

// Both read the text as one stream. Where it is not read to its end, what is read is taken to have as many
// characters and bytes per token as the whole.
TextQuality compare_on_text(const LanguageModel& before, const LanguageModel& after,
                            const data::TokenView& text, ThreadPool& pool, const ComparisonOptions& options);

ExampleQuality compare_on_examples(const Classifier& before, const Classifier& after, const data::Part& part,
                                   ThreadPool& pool, const ComparisonOptions& options);

}  // namespace mega::infer
