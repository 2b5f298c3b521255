// A language model that reads a text incrementally, for generation.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mega/config/model_kind.h"
#include "mega/infer/generation/predictor.h"
#include "mega/models/token_model.h"
#include "mega/nn/state.h"
#include "mega/ops/torch.h"

namespace mega::models {

// Predictions depend only on the tokens, not on how they were split into calls of feed().
class TokenPredictor : public infer::Predictor {
 public:
  // Puts the model into evaluation mode. With a window, for models with a limited number of positions: when
  // the window is full, the next one starts `stride` tokens later, so that each token sees at least window -
  // stride earlier tokens.
  explicit TokenPredictor(std::shared_ptr<TokenModel> model, const ReadingPlan& plan = {},
                          torch::Device device = torch::kCPU);

  void feed(std::span<const int32_t> tokens) override;
  std::span<const float> logits() override;
  int64_t position() const override { return position_; }

 private:
  void read(std::span<const int32_t> tokens);
  void slide();

  std::shared_ptr<TokenModel> model_;
  torch::Device device_;
  ReadingPlan plan_;
  nn::State state_;
  std::vector<int32_t> window_;  // tokens covered by the state, if the window slides
  torch::Tensor last_;           // (1, D): features of the last token
  torch::Tensor logits_;         // undefined until logits() is called
  int64_t position_ = 0;
};

}  // namespace mega::models
