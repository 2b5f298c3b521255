// `predict --stream`: classifies unbounded input.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace mega::cli {

struct StreamRequest {
  std::filesystem::path model;
  std::string input = "-";  // a file, or standard input
  int64_t every = 0;        // positions between decisions; 0: depends on the model
  int64_t window = -1;      // last positions that a decision covers; 0: all; -1: depends on the model
  int64_t top = 3;
  int threads = 0;
  bool json = false;
};

// Reads bytes of text, or audio samples (data::SampleDecoder), until end of input or Ctrl-C, and prints a
// line per decision as soon as it is made.
void predict_stream(const StreamRequest& request);

}  // namespace mega::cli
