// The command line of `mega eval`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

struct EvalCommand {
  std::string model, path, split = "test", device = "cpu", predictions;
  std::vector<std::string> changes;
  int64_t examples = 0;
  int threads = 0;
  bool json = false;
  LanguageReading reading;
};

}  // namespace mega::cli
