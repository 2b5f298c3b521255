// Token embeddings scaled by sqrt(D), plain or adaptive (in bands), and projected if they are narrower than
// the model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mega/config/model_options.h"
#include "mega/config/models/bands.h"
#include "mega/infer/layers/linear.h"

namespace mega::infer {

class TokenEmbedding {
 public:
  TokenEmbedding(WeightFile& file, const std::string& name, const TokenOptions& options, int64_t width);

  // A plain one, with the given rows (V, D).
  TokenEmbedding(const kernels::Weights& rows, bool scaled);

  // x (tokens, D). The caller has checked that the tokens are in the vocabulary
  // (LanguageModel::check_tokens).
  void forward(std::span<const int32_t> tokens, kernels::Rows x, const Run& run) const;

  // For a vocabulary without bands: (V, embedding width).
  const kernels::Weights& weights() const { return parts_.front().embeddings; }

 private:
  struct Part {
    Band band;
    kernels::Weights embeddings;  // (tokens of the band, its width)
    Linear projection;            // (D, its width); empty if there is none
  };

  int64_t width_, vocabulary_;
  float scale_;
  std::vector<Part> parts_;  // one, or one per band
};

}  // namespace mega::infer
