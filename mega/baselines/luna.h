// Luna (Ma et al. 2021) for sequence classification: two attentions through a packed sequence of fixed
// length, as in the paper's program.
#pragma once

#include <vector>

#include "mega/baselines/sinusoidal.h"
#include "mega/config/models/luna_options.h"
#include "mega/models/encoder_model.h"
#include "mega/nn/stack.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// A sequence (B, L, D) and its packed one (B, P, D).
struct LunaPair {
  torch::Tensor x, packed;
};

// The packed sequence reads x, then x reads what that gave.
class LunaAttentionImpl : public torch::nn::Module {
 public:
  explicit LunaAttentionImpl(const LunaOptions& options);

  // mask (B, L) and packed_mask (B, P) bool with true = padding, or undefined. Gives what is added to each.
  LunaPair forward(const LunaPair& pair, const torch::Tensor& mask, const torch::Tensor& packed_mask);

 private:
  LunaOptions options_;
  // Keys and values for packing, and of the packed sequence; equal if they are tied.
  torch::nn::Linear pack_query_, pack_key_, pack_value_, query_, key_, value_, out_;
};
TORCH_MODULE(LunaAttention);

class LunaLayerImpl : public torch::nn::Module {
 public:
  explicit LunaLayerImpl(const LunaOptions& options);

  LunaPair forward(const LunaPair& pair, const torch::Tensor& mask, const torch::Tensor& packed_mask);

  LunaAttention attention;

 private:
  LunaOptions options_;
  torch::nn::LayerNorm attention_norm_, packed_norm_, final_norm_;
  torch::nn::Linear fc1_, fc2_;
};
TORCH_MODULE(LunaLayer);

// Positions, norms of the embeddings, layers. The packed sequence starts as learned embeddings, of which a
// batch uses as many as its longest sequence has positions; a shorter sequence does not see the rest.
class LunaStack : public nn::Stack {
 public:
  LunaStack(const LunaOptions& options, torch::nn::Module& holder);

  torch::Tensor forward(torch::Tensor x, const torch::Tensor& mask, nn::State* state = nullptr,
                        const nn::Source& source = {}) override;

  void reset_parameters();

 private:
  LunaOptions options_;
  torch::nn::Module& holder_;
  SinusoidalPositions positions_, packed_positions_;
  torch::Tensor packed_embeddings_;  // (P, D)
  torch::nn::LayerNorm embedding_norm_{nullptr}, packed_embedding_norm_{nullptr}, final_norm_{nullptr};
  torch::nn::ModuleList list_;
  std::vector<LunaLayer> layers_;
};

class LunaImpl : public models::EncoderModel {
 public:
  explicit LunaImpl(const LunaOptions& options);
};
TORCH_MODULE(Luna);

// Causal Luna, of a decoder: queries, keys and values (B, L, D) of H heads, scores (B, L, D) and queries of
// the packed sequence (B, P, D) -> (B, L, D). Position t reads means over the positions up to t.
torch::Tensor causal_luna_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                    const torch::Tensor& scores, const torch::Tensor& packed, int64_t heads);

}  // namespace mega::baselines
