// How many parameters a model has, in all and by part, and how its file keeps them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "mega/base/safetensors.h"

namespace mega {

// Parts: embedding, ema, attention, positions, norms, feed-forward, head.
struct ParameterCount {
  int64_t total = 0;
  std::map<std::string, int64_t> parts;

  // The part is known by the parameter's released name.
  void add(const std::string& name, int64_t parameters);
};

// Of a model file: buffers, scales of quantized weights and what is no weight at all do not count.
ParameterCount count_parameters(const Safetensors& file);

// Bytes of each part by type, with buffers and scales, and of the vocabulary and other input statistics as
// the part "input".
std::map<std::string, std::map<DType, int64_t>> stored_bytes(const Safetensors& file);

}  // namespace mega
