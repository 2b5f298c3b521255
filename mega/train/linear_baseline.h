// What a linear classifier on n-grams reaches on the same examples: the first baseline of every report on
// texts.
#pragma once

#include <optional>
#include <string>

#include "mega/config/files/signature.h"
#include "mega/config/recipe/presets.h"
#include "mega/data/dataset.h"
#include "mega/train/evaluation/metrics.h"

namespace mega::train {

struct BaselineScores {
  std::string name, title;  // "linear", and in words
  Scores valid, test;       // empty where there are no such examples
  double seconds = 0.0;
};

// Trains as the preset text-linear does, on what the recipe's model reads, for at most about `max_seconds`.
// None if the recipe is not a classifier of texts, or linear itself.
std::optional<BaselineScores> train_linear_baseline(const Recipe& recipe, const data::Dataset& dataset,
                                                    const Signature& signature, double max_seconds);

}  // namespace mega::train
