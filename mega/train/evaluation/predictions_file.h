// Predictions of an evaluation as a file, one line per example.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "mega/train/evaluation/evaluation.h"

namespace mega::train {

// A table with a header if the name ends in .csv or .tsv, else JSON lines, either compressed if the name says
// so (.gz, .xz, .zst). Of a classification: input, label, prediction and the probability of each class; of a
// regression: input, targets and predicted values.
void write_predictions(const std::filesystem::path& path, const Evaluation& evaluation,
                       const data::Part& part, const std::vector<std::string>& classes);

}  // namespace mega::train
