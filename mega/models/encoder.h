// A stack of Mega blocks over tokens or real numbers, pooled to one vector a sequence.
#pragma once

#include "mega/config/model_options.h"
#include "mega/nn/mega_block.h"
#include "mega/nn/norm.h"
#include "mega/ops/torch.h"

namespace mega::models {

// The token that fills a row up to the batch's longest, as released.
inline constexpr int64_t kPadding = 1;

// A batch of sequences: tokens (B, L) int64 or real numbers (B, L), and their true lengths (B) int64; an
// undefined `lengths` means that all are L long.
struct Sequences {
  torch::Tensor values;
  torch::Tensor lengths;
};

// The released LRA encoder. No absolute positions, embeddings are not scaled, padding is zero before the
// first block and after the last norm.
class EncoderImpl : public torch::nn::Module {
 public:
  explicit EncoderImpl(const EncoderClassifierOptions& options);

  torch::Tensor forward(const Sequences& batch);  // (B, D)

  void reset_parameters();

 private:
  torch::Tensor embed(const torch::Tensor& values);
  torch::Tensor pool(const torch::Tensor& x, const torch::Tensor& lengths) const;

  EncoderClassifierOptions options_;
  torch::Tensor weight_, bias_;  // embeddings (vocabulary, D), or weight and bias (D) of a real number
  nn::SequenceNorm embed_norm_{nullptr}, final_norm_{nullptr};
  std::vector<nn::MegaBlock> blocks_;
};
TORCH_MODULE(Encoder);

}  // namespace mega::models
