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
  int64_t rate = 0;         // of bare audio samples, per second; 0: the model's
  int64_t channels = 1;     // of bare audio samples
  int64_t top = 3;
  int threads = 0;
  bool json = false;
  bool changes = false;  // prints a decision only if it is another class than the one before
};

// Reads bytes of text, or audio samples (data::SampleDecoder), until end of input or Ctrl-C, and prints a
// line per decision as soon as it is made.
void predict_stream(const StreamRequest& request);

}  // namespace mega::cli
