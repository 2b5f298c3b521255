// `mega eval` for language models.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mega/data/record.h"
#include "mega/ops/torch.h"

namespace mega::cli {

// How the text is read; see train::TextReading.
struct LanguageReading {
  int64_t chunk = 0;                // 0: as in training
  int64_t context = 0;              // 0: given by the segments or the model's window
  int64_t segments = 0;             // 0: default of train::TextReading
  std::vector<std::string> sweeps;  // "chunk=512,1024"
  std::string out;  // folder of the charts; empty: the model's run directory, or else the current directory

  bool is_default() const {
    return chunk == 0 && context == 0 && segments == 0 && sweeps.empty() && out.empty();
  }
};

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
