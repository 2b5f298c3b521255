#include "mega/models/token_predictor.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/models/token_tensor.h"

namespace mega::models {
namespace {

// Tokens per forward pass: enough for full speed, while memory does not grow with the text.
constexpr size_t kPiece = 2048;

}  // namespace

TokenPredictor::TokenPredictor(std::shared_ptr<TokenModel> model, const ReadingPlan& plan,
                               torch::Device device)
    : model_(std::move(model)), device_(device), plan_(plan) {
  require(!plan.has_window() || (plan.stride >= 1 && plan.stride <= plan.window), "a window of ", plan.window,
          " tokens cannot advance by ", plan.stride);
  model_->eval();
}

void TokenPredictor::feed(std::span<const int32_t> tokens) {
  while (!tokens.empty()) {
    size_t piece = std::min(tokens.size(), kPiece);
    if (plan_.has_window()) {
      const auto window = static_cast<size_t>(plan_.window);
      if (window_.size() == window) slide();
      piece = std::min(piece, window - window_.size());
    }
    read(tokens.first(piece));
    if (plan_.has_window()) window_.insert(window_.end(), tokens.begin(), tokens.begin() + piece);
    position_ += static_cast<int64_t>(piece);
    tokens = tokens.subspan(piece);
  }
}

void TokenPredictor::read(std::span<const int32_t> tokens) {
  const torch::NoGradGuard guard;
  const torch::Tensor input = token_tensor(tokens, {1, std::ssize(tokens)});
  const torch::Tensor features = model_->features(input.to(device_), {}, &state_);
  last_ = features.select(1, features.size(1) - 1);
  logits_ = torch::Tensor();
}

// Recomputes the state for the tokens that the next window shares with this one.
void TokenPredictor::slide() {
  window_.erase(window_.begin(), window_.begin() + plan_.stride);
  state_ = {};
  for (std::span<const int32_t> kept = window_; !kept.empty();) {
    const size_t piece = std::min(kept.size(), kPiece);
    read(kept.first(piece));
    kept = kept.subspan(piece);
  }
}

std::span<const float> TokenPredictor::logits() {
  require(last_.defined(), "a model that has read nothing predicts nothing: feed </s> first");
  if (!logits_.defined()) {
    const torch::NoGradGuard guard;
    logits_ = model_->log_probabilities(last_).to(torch::kCPU, torch::kFloat32).contiguous();
  }
  return {logits_.data_ptr<float>(), static_cast<size_t>(logits_.numel())};
}

}  // namespace mega::models
