// `mega eval` for translators.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mega/data/record.h"
#include "mega/ops/torch.h"

namespace mega::cli {

struct TranslatorEvaluation {
  std::string model, path;
  data::Split split = data::Split::test;
  std::vector<std::string> changes;  // data options, key=value
  int64_t pairs = 0;                 // of each set, evenly spread; 0: all
  torch::Device device = torch::kCPU;
  bool json = false;
};

void evaluate_translator(const TranslatorEvaluation& request);

}  // namespace mega::cli
