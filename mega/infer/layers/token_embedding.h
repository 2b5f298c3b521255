// From tokens to vectors: embeddings scaled by sqrt(D), plain or in bands, and projected where they are not
// as wide as the model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mega/config/bands.h"
#include "mega/config/model_options.h"
#include "mega/infer/layers/linear.h"

namespace mega::infer {

class TokenEmbedding {
 public:
  TokenEmbedding(WeightFile& file, const std::string& name, const TokenOptions& options, int64_t width);

  // x (tokens, D). Tokens are of the vocabulary: whoever takes them from outside has checked that
  // (LanguageModel::check_tokens).
  void forward(std::span<const int32_t> tokens, kernels::Rows x, const Run& run) const;

  // Of a vocabulary without bands: (V, width of embeddings).
  const kernels::Weights& weights() const { return parts_.front().embeddings; }

 private:
  struct Part {
    Band band;
    kernels::Weights embeddings;  // (tokens of the band, its width)
    Linear projection;            // (D, its width); without weights for none
  };

  int64_t width_, vocabulary_;
  float scale_;
  std::vector<Part> parts_;  // one, or one for each band
};

}  // namespace mega::infer
