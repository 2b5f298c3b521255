// A stack of Mega blocks over tokens or real numbers, pooled to one vector a sequence.
#pragma once

#include "mega/config/model_options.h"
#include "mega/models/sequence_model.h"
#include "mega/nn/mega_block.h"
#include "mega/nn/norm.h"
#include "mega/ops/torch.h"

namespace mega::models {

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
  torch::Tensor weight_, bias_;  // embeddings (vocabulary, D), or weight (D) or (channels, D) and bias (D)
                                 // of real numbers
  nn::SequenceNorm embed_norm_{nullptr}, final_norm_{nullptr};
  std::vector<nn::MegaBlock> blocks_;
};
TORCH_MODULE(Encoder);

}  // namespace mega::models
