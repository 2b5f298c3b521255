// Embeds the input: a row of a matrix per token, or x * weight + bias for real numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "mega/config/model_options.h"
#include "mega/infer/weight_file.h"
#include "mega/infer/workspace.h"
#include "mega/kernels/dot.h"

namespace mega::infer {

// A sequence, or part of one: tokens, or real numbers with the channels of a position contiguous.
struct SequenceView {
  std::span<const int32_t> tokens;
  std::span<const float> values;
  int64_t length = 0;
};

class InputEmbedding {
 public:
  InputEmbedding(WeightFile& file, const std::string& name, const SequenceOptions& options, int64_t width);

  // x (length, D). Error, before anything is written, if the sequence is not of the model's input kind.
  void forward(const SequenceView& sequence, kernels::Rows x, const Run& run) const;

 private:
  int64_t width_, vocabulary_, channels_;
  kernels::Weights tokens_;        // (V, D); empty for real numbers
  const float* weight_ = nullptr;  // (channels, D)
  const float* bias_ = nullptr;    // (D)
};

}  // namespace mega::infer
