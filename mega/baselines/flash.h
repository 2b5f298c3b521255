// Flash (Hua et al. 2022) for sequence classification: layers of one gated attention unit each, quadratic as
// in the paper's program, or mixed of chunks and a linear part.
#pragma once

#include <memory>
#include <vector>

#include "mega/config/models/flash_options.h"
#include "mega/models/encoder_model.h"
#include "mega/nn/position.h"
#include "mega/nn/stack.h"
#include "mega/ops/attention.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// relu(q k^T / l + bias)^2 v, where l is the number of unpadded keys, also for a causal query: q, k (B, L,
// Z), v (B, L, V), mask (B, L) bool with true = padding, or undefined -> (B, L, V).
torch::Tensor quadratic_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                  const ops::RelativeBias& bias, const torch::Tensor& mask, bool causal,
                                  const ops::Dropout& dropout = {});

// Queries and keys of both parts, (B, L, Z).
struct MixedQueries {
  torch::Tensor quadratic_q, linear_q, quadratic_k, linear_k;
};

// Within chunks of C positions relu(q k^T / C + bias)^2 v, plus q (sum of k^T v) / L over everything, or over
// earlier chunks and by C if causal: v (B, L, V) -> (B, L, V).
torch::Tensor mixed_attention(const MixedQueries& queries, const torch::Tensor& v,
                              const ops::RelativeBias& bias, const torch::Tensor& mask, int64_t chunk,
                              bool causal, const ops::Dropout& dropout = {});

class GatedAttentionUnitImpl : public torch::nn::Module {
 public:
  GatedAttentionUnitImpl(const FlashOptions& options, bool causal = false);

  // x (B, L, D), mask (B, L) bool with true = padding, or undefined -> (B, L, D)
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask);

  void reset_parameters();

 private:
  FlashOptions options_;
  bool causal_;
  torch::Tensor gamma_, beta_;  // (2 or 4, Z)
  torch::nn::Linear proj_, out_proj_;
  std::shared_ptr<nn::PositionImpl> position_;
};
TORCH_MODULE(GatedAttentionUnit);

// The norms of Flash: eps of a scale norm is 1e-6, and padding is part of batch statistics.
class FlashNormImpl : public torch::nn::Module {
 public:
  explicit FlashNormImpl(const FlashOptions& options);
  torch::Tensor forward(const torch::Tensor& x);  // (B, L, D) -> (B, L, D)

 private:
  NormKind kind_;
  torch::Tensor weight_, bias_, running_mean_, running_variance_, batches_;
};
TORCH_MODULE(FlashNorm);

// x + unit(norm(x))
class FlashLayerImpl : public torch::nn::Module {
 public:
  explicit FlashLayerImpl(const FlashOptions& options);

  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask);

  FlashNorm pre_norm;
  GatedAttentionUnit gau;

 private:
  FlashOptions options_;
};
TORCH_MODULE(FlashLayer);

// Layers and a final norm; no positions but those of the units.
class FlashStack : public nn::Stack {
 public:
  FlashStack(const FlashOptions& options, torch::nn::Module& holder);

  torch::Tensor forward(torch::Tensor x, const torch::Tensor& mask, nn::State* state = nullptr,
                        const nn::Source& source = {}) override;

 private:
  FlashOptions options_;
  torch::nn::Module& holder_;
  torch::nn::ModuleList list_;
  std::vector<FlashLayer> layers_;
  FlashNorm final_norm_;
};

class FlashImpl : public models::EncoderModel {
 public:
  explicit FlashImpl(const FlashOptions& options);
};
TORCH_MODULE(Flash);

}  // namespace mega::baselines
