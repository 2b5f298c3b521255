// A stack of Mega blocks over tokens or real numbers, pooled to one vector a sequence.
#pragma once

#include "mega/config/model_options.h"
#include "mega/models/input_embedding.h"
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

 private:
  EncoderClassifierOptions options_;
  InputEmbedding embedding_;
  nn::SequenceNorm embed_norm_{nullptr}, final_norm_{nullptr};
  std::vector<nn::MegaBlock> blocks_;
};
TORCH_MODULE(Encoder);

}  // namespace mega::models
