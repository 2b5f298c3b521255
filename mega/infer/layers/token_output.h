// The distribution of the next token: a softmax with its own weights or tied to the embeddings, or an
// adaptive softmax (Grave et al. 2017), which first chooses a band of rarer tokens and then a token within
// it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mega/config/model_options.h"
#include "mega/config/models/bands.h"
#include "mega/infer/layers/linear.h"
#include "mega/infer/layers/token_embedding.h"

namespace mega::infer {

class TokenOutput {
 public:
  TokenOutput(WeightFile& file, const std::string& name, const TokenOptions& options, int64_t width,
              const TokenEmbedding& embedding);

  int64_t vocabulary() const { return vocabulary_; }

  // Log-probabilities of all tokens up to a constant, (rows, vocabulary), from features (rows, D).
  void logits(kernels::ConstRows features, kernels::Rows out, int64_t rows, const Run& run) const;

  // log p of one token for each row of features.
  void log_probabilities(kernels::ConstRows features, std::span<const int32_t> tokens, std::span<float> out,
                         const Run& run) const;

 private:
  // A band of rarer tokens: features are first projected to the width of their embeddings.
  struct Tail {
    Band band;
    Linear reduction, output;
  };
  void tail_logits(const Tail& tail, kernels::ConstRows features, kernels::Rows out, int64_t rows,
                   const Run& run) const;

  // Features as the softmax reads them, (rows, D), in `run`'s workspace if they change.
  kernels::ConstRows before(kernels::ConstRows features, int64_t rows, const Run& run) const;

  int64_t vocabulary_, width_;
  std::optional<Linear> dense_;  // a layer with tanh before the softmax
  int64_t frequent_;             // number of tokens in the head
  std::vector<Linear> head_;     // frequent tokens, then the choice of a tail
  std::vector<Tail> tails_;
};

}  // namespace mega::infer
