// The attention of a Long Range Arena encoder: what its kinds exchange.
#pragma once

#include <memory>

#include "mega/config/models/arena_options.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// Projections have no biases.
torch::nn::Linear arena_projection(int64_t width);

class ArenaAttention : public torch::nn::Module {
 public:
  // x (B, L, D), mask (B, L) bool with true = padding, or undefined -> (B, L, D).
  virtual torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask) = 0;

  // Takes the place of what is drawn at random, so that a test knows it: BigBird's random blocks, or
  // Reformer's rotations.
  torch::Tensor fixed;
};

// One that differs from softmax attention in what it does with queries, keys and values.
class ProjectedAttention : public ArenaAttention {
 public:
  explicit ProjectedAttention(int64_t width);

  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask) override;

 protected:
  // q, k, v (B, L, D) -> (B, L, D)
  virtual torch::Tensor attend(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                               const torch::Tensor& mask) = 0;

 private:
  torch::nn::Linear query_, key_, value_, out_;
};

// The attention of each kind, for the layer of this number.
std::shared_ptr<ArenaAttention> make_attention(const ArenaTransformerOptions& options, int64_t layer);
std::shared_ptr<ArenaAttention> make_attention(const PerformerOptions& options, int64_t layer);
std::shared_ptr<ArenaAttention> make_attention(const LinformerOptions& options, int64_t layer);
std::shared_ptr<ArenaAttention> make_attention(const BigBirdOptions& options, int64_t layer);
std::shared_ptr<ArenaAttention> make_attention(const ReformerOptions& options, int64_t layer);

}  // namespace mega::baselines
