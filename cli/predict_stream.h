// `predict --stream`: a classifier that listens to input without end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace mega::cli {

struct StreamRequest {
  std::filesystem::path model;
  std::string input = "-";  // a file, or standard input
  int64_t every = 0;        // positions from one decision to the next; 0: by the model
  int64_t window = -1;      // positions that a decision is about; 0: all; -1: by the model
  int64_t top = 3;
  int threads = 0;
  bool json = false;
};

// Reads bytes of text, or samples of sound as data::SampleDecoder has them, until they end or Ctrl-C, and
// prints a line for each decision as it comes.
void predict_stream(const StreamRequest& request);

}  // namespace mega::cli
