// `mega bench decode`: the engine, token by token and with long prompts, compared with the memory bandwidth
// and the sgemm rate of this machine in the same run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mega::bench {

struct DecodeSettings {
  std::string preset = "enwik8";
  int threads = 0;       // 0: all cores
  int repeats = 3;       // rounds; the median is reported
  int64_t far = 100000;  // also measure a chunk that contains this position, after reading up to it; 0: none
};

struct DecodeRow {
  std::string model;      // "f32", "int8, bf16 keys and values", ...
  std::string positions;  // "128", "0 to 127", ...
  int64_t batch = 1;
  double seconds_per_token = 0.0;
  double bytes_per_token =
      0.0;  // weights, keys, values and averages that one token reads; 0: not memory-bound
  double share_of_bandwidth = 0.0;  // of the memory bandwidth measured in the same rounds
  double share_of_sgemm = 0.0;      // for whole prompts only
};

struct DecodeTable {
  double bandwidth = 0.0;  // bytes per second read by all threads together
  double sgemm = 0.0;      // floating-point operations per second
  std::vector<DecodeRow> rows;

  std::string markdown() const;
  std::string json() const;
};

// Uses random weights, which do not affect the timing.
DecodeTable run_decode(const DecodeSettings& settings);

}  // namespace mega::bench
