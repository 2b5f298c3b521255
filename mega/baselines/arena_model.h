// The classifier of the Long Range Arena (Tay et al. 2021) with an exchangeable attention: Reformer,
// Linformer, BigBird, Performer and the arena's own Transformer.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "mega/baselines/arena_attention.h"
#include "mega/baselines/sinusoidal.h"
#include "mega/config/models/arena_options.h"
#include "mega/models/input_embedding.h"
#include "mega/models/sequence_model.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// Prenorm: x + attention(norm(x)), then x + feed-forward(norm(x)), norms with eps 1e-6.
class ArenaBlock : public torch::nn::Module {
 public:
  ArenaBlock(const ArenaOptions& options, std::shared_ptr<ArenaAttention> attention);

  // x (B, L, D), mask (B, L) bool with true = padding, or undefined -> (B, L, D)
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask);

  void reset_parameters();

 private:
  double dropout_;
  std::shared_ptr<ArenaAttention> attention_;
  torch::nn::LayerNorm norm1_, norm2_;
  torch::nn::Linear fc1_, fc2_;
};

// Tokens, not scaled, or real numbers, after a learned vector for the whole (pooling = cls), plus sinusoids;
// blocks, a final norm, and a head with one hidden layer.
class ArenaModel : public models::SequenceModel {
 public:
  using MakeAttention = std::function<std::shared_ptr<ArenaAttention>(int64_t layer)>;
  ArenaModel(const ArenaOptions& options, const MakeAttention& make);

  torch::Tensor predict(const std::vector<models::Sequences>& documents) override;

  torch::Tensor encode(const models::Sequences& document);  // (B, D)

  void reset_parameters();

 private:
  bool has_cls_, arena_padding_;
  int64_t channels_, max_length_;
  Pooling pooling_;
  size_t documents_;
  double dropout_;
  SinusoidalPositions positions_;
  models::InputEmbedding embed_;
  torch::Tensor cls_;  // (1, 1, D); undefined without
  std::vector<std::shared_ptr<ArenaBlock>> blocks_;
  torch::nn::LayerNorm norm_;
  torch::nn::Linear mlp_, logits_;
};

template <class Options>
std::shared_ptr<ArenaModel> make_arena_model(const Options& options) {
  return std::make_shared<ArenaModel>(options, [&](int64_t layer) { return make_attention(options, layer); });
}

}  // namespace mega::baselines
