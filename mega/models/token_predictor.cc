#include "mega/models/token_predictor.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/models/token_tensor.h"

namespace mega::models {
namespace {

// Tokens read at once: enough for full speed, and memory that does not grow with the text.
constexpr size_t kPiece = 2048;

}  // namespace

TokenPredictor::TokenPredictor(std::shared_ptr<TokenModel> model, torch::Device device, SlidingWindow sliding)
    : model_(std::move(model)), device_(device), sliding_(sliding) {
  require(sliding.window == 0 || (sliding.stride >= 1 && sliding.stride <= sliding.window), "a window of ",
          sliding.window, " tokens cannot go on by ", sliding.stride);
  model_->eval();
}

void TokenPredictor::feed(std::span<const int32_t> tokens) {
  while (!tokens.empty()) {
    size_t piece = std::min(tokens.size(), kPiece);
    if (sliding_.window > 0) {
      const auto window = static_cast<size_t>(sliding_.window);
      if (window_.size() == window) slide();
      piece = std::min(piece, window - window_.size());
    }
    read(tokens.first(piece));
    if (sliding_.window > 0) window_.insert(window_.end(), tokens.begin(), tokens.begin() + piece);
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

// Reads what the next window has in common with this one again, from its beginning.
void TokenPredictor::slide() {
  window_.erase(window_.begin(), window_.begin() + sliding_.stride);
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
