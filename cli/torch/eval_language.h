// `mega eval` for language models.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/eval_command.h"
#include "mega/data/record.h"
#include "mega/ops/torch.h"

namespace mega::cli {

struct LanguageEvaluation {
  std::string model, path;
  data::Split split = data::Split::test;
  std::vector<std::string> changes;  // data options, key=value
  LanguageReading reading;
  torch::Device device = torch::kCPU;
  bool json = false;
};

void evaluate_language_model(const LanguageEvaluation& request);

}  // namespace mega::cli
