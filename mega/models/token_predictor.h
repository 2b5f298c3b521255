// A language model that reads a text token by token, as generation needs it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mega/infer/generation/predictor.h"
#include "mega/models/token_model.h"
#include "mega/nn/state.h"
#include "mega/ops/torch.h"

namespace mega::models {

// For a model that knows so many positions only, such as a Transformer: when a window is full, the next
// begins `stride` tokens later. Each token then sees at least window - stride tokens before it.
struct SlidingWindow {
  int64_t window = 0;  // 0: a state of the whole text
  int64_t stride = 0;  // 1 .. window
};

// What it gives depends on the tokens alone, not on how they were cut into feeds.
class TokenPredictor : public infer::Predictor {
 public:
  // Puts the model into evaluation mode.
  explicit TokenPredictor(std::shared_ptr<TokenModel> model, torch::Device device = torch::kCPU,
                          SlidingWindow sliding = {});

  void feed(std::span<const int32_t> tokens) override;
  std::span<const float> logits() override;
  int64_t position() const override { return position_; }

 private:
  void read(std::span<const int32_t> tokens);
  void slide();

  std::shared_ptr<TokenModel> model_;
  torch::Device device_;
  SlidingWindow sliding_;
  nn::State state_;
  std::vector<int32_t> window_;  // the tokens of the state, where it slides
  torch::Tensor last_;           // (1, D): features of the last token
  torch::Tensor logits_;         // undefined until somebody asks
  int64_t position_ = 0;
};

}  // namespace mega::models
