// A language model that reads a text token by token, as generation needs it.
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

// What it gives depends on the tokens alone, not on how they were cut into feeds.
class TokenPredictor : public infer::Predictor {
 public:
  // Puts the model into evaluation mode. With a window, for a model that knows so many positions only: when
  // it is full, the next begins `stride` tokens later, so that each token sees at least window - stride
  // tokens before it.
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
  std::vector<int32_t> window_;  // the tokens of the state, where it slides
  torch::Tensor last_;           // (1, D): features of the last token
  torch::Tensor logits_;         // undefined until somebody asks
  int64_t position_ = 0;
};

}  // namespace mega::models
