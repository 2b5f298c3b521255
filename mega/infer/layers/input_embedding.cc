#include "mega/infer/layers/input_embedding.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/infer/layers/check_tokens.h"

namespace mega::infer {

InputEmbedding::InputEmbedding(WeightFile& file, const std::string& name, const SequenceOptions& options,
                               int64_t width)
    : width_(width), vocabulary_(options.vocabulary), channels_(options.channels) {
  if (options.input == InputKind::tokens) {
    tokens_ = file.matrix(name + ".embed.weight", vocabulary_, width);
  } else {
    weight_ = file.numbers(name + ".weight", channels_ * width).data();
    bias_ = file.numbers(name + ".bias", width).data();
  }
}

void InputEmbedding::forward(const SequenceView& sequence, kernels::Rows x, const Run& run) const {
  if (tokens_.data != nullptr) {
    require(std::ssize(sequence.tokens) == sequence.length, "this model reads tokens: ", sequence.length,
            " positions, but ", sequence.tokens.size(), " tokens");
    check_tokens(sequence.tokens, vocabulary_);
  } else {
    require(std::ssize(sequence.values) == sequence.length * channels_, "this model reads ", channels_,
            " real number(s) per position: ", sequence.length, " positions, but ", sequence.values.size(),
            " numbers");
  }
  run.rows(sequence.length, width_ * channels_, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      float* out = x[row];
      if (tokens_.data != nullptr) {
        kernels::weight_row(tokens_, sequence.tokens[static_cast<size_t>(row)], out);
        continue;
      }
      std::copy_n(bias_, width_, out);
      for (int64_t channel = 0; channel < channels_; ++channel) {
        const float value = sequence.values[static_cast<size_t>(row * channels_ + channel)];
        const float* weights = weight_ + channel * width_;
        for (int64_t c = 0; c < width_; ++c) out[c] += value * weights[c];
      }
    }
  });
}

}  // namespace mega::infer
