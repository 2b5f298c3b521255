// `mega eval` of a language model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mega/data/record.h"
#include "mega/ops/torch.h"

namespace mega::cli {

// How the text is read: train::TextReading.
struct LanguageReading {
  int64_t chunk = 0;                // 0: that of training
  int64_t context = 0;              // 0: what the segments or the model's window give
  int64_t segments = 0;             // 0: as train::TextReading has it
  std::vector<std::string> sweeps;  // "chunk=512,1024"
  std::string out;  // folder of the charts; empty: the model's run directory, or else this one

  bool is_default() const {
    return chunk == 0 && context == 0 && segments == 0 && sweeps.empty() && out.empty();
  }
};

struct LanguageEvaluation {
  std::string model, path;
  data::Split split = data::Split::test;
  std::vector<std::string> changes;  // of data options
  LanguageReading reading;
  torch::Device device = torch::kCPU;
  bool json = false;
};

void evaluate_language_model(const LanguageEvaluation& request);

}  // namespace mega::cli
