// Golden files are streams too: the same input in segments, in single steps and in random cuts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/ops/torch.h"
#include "tests/golden/golden.h"

namespace mega::testing {

// Layers are (time, batch, channel) in the files and (batch, time, channel) here; converts either way.
inline Tensor swap(const Tensor& x) { return x.transpose(0, 1); }

using Lengths = std::vector<int64_t>;

// Feeds x (B, L, D) and its mask in segments to step(x, mask) and concatenates the results.
template <class Step>
inline Tensor stream(const Tensor& x, const Tensor& mask, const Lengths& lengths, const Step& step) {
  std::vector<Tensor> outputs;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    const Tensor piece_mask = mask.defined() ? mask.narrow(1, begin, length) : mask;
    outputs.push_back(step(x.narrow(1, begin, length), piece_mask));
    begin += length;
  }
  require(begin == x.size(1), "segments of ", begin, " positions in all, the input has ", x.size(1));
  return torch::cat(outputs, 1);
}

// The segments of the file's stream.
inline Lengths segments(Golden& golden) {
  Lengths lengths;
  for (const std::string& text : split(golden.option("segments"), ',')) lengths.push_back(std::stoll(text));
  return lengths;
}

inline Lengths single_steps(int64_t length) { return Lengths(static_cast<size_t>(length), 1); }

inline Lengths random_cuts(int64_t length, uint32_t seed) {
  std::mt19937 random(seed);
  Lengths lengths;
  for (int64_t left = length; left > 0; left -= lengths.back())
    lengths.push_back(std::min<int64_t>(left, 1 + random() % 13));
  return lengths;
}

// Splitting a stream differently from the file must give the same: run(lengths) returns out.y in the file's
// layout.
template <class Run>
inline void check_other_cuts(Golden& golden, int64_t length, const Run& run) {
  golden.value("out.y", run(single_steps(length)), " (single steps)");
  for (const uint32_t seed : {1, 2, 3})
    golden.value("out.y", run(random_cuts(length, seed)), " (random cuts " + std::to_string(seed) + ")");
}

}  // namespace mega::testing
