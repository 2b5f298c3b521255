#include "mega/models/token_layers.h"

#include <cmath>

#include "mega/base/error.h"
#include "mega/ops/linear.h"
#include "mega/ops/softmax_loss.h"
#include "mega/text/tokens.h"

namespace mega::models {
namespace {

using torch::Tensor;

// Registers a parameter as decoder.NAME.weight.
Tensor register_weight(torch::nn::Module& decoder, const char* name, std::vector<int64_t> sizes) {
  auto holder = std::make_shared<torch::nn::Module>();
  decoder.register_module(name, holder);
  return holder->register_parameter("weight", torch::empty(sizes));
}

double inverse_root(int64_t width) { return 1.0 / std::sqrt(static_cast<double>(width)); }

}  // namespace

TokenEmbedding::TokenEmbedding(const TokenOptions& options, int64_t width, torch::nn::Module& decoder)
    : vocabulary_(options.vocabulary),
      scale_(options.scale_embedding ? std::sqrt(static_cast<double>(width)) : 1.0) {
  const torch::NoGradGuard guard;
  const int64_t embedding = options.embedding_width > 0 ? options.embedding_width : width;
  if (!options.cutoffs.empty()) {
    adaptive_ = nn::AdaptiveEmbedding(
        make_bands(options.cutoffs, options.vocabulary, embedding, options.band_factor), width);
    decoder.register_module("embed_tokens", adaptive_.ptr());
    return;
  }
  weight_ = register_weight(decoder, "embed_tokens", {options.vocabulary, embedding});
  weight_.normal_(0.0, inverse_root(embedding));
  if (options.vocabulary > kPad) weight_[kPad].zero_();
  if (embedding != width) {
    projection_ = register_weight(decoder, "project_in_dim", {width, embedding});
    torch::nn::init::xavier_uniform_(projection_);
  }
}

Tensor TokenEmbedding::forward(const Tensor& tokens) {
  require(tokens.dim() == 2 && tokens.scalar_type() == torch::kInt64 && tokens.numel() > 0,
          "expected tokens (batch, length) of type int64, got ", tokens.sizes(), " ", tokens.scalar_type());
  const int64_t least = tokens.min().item<int64_t>(), most = tokens.max().item<int64_t>();
  require(least >= 0 && most < vocabulary_, "token ", least < 0 ? least : most, " is outside 0 to ",
          vocabulary_ - 1, ", the model's vocabulary");
  if (adaptive_) return adaptive_->forward(tokens) * scale_;
  // The padding embedding gets no gradient from lookups, as released.
  const Tensor x = torch::embedding(weight_, tokens, vocabulary_ > kPad ? kPad : -1) * scale_;
  return projection_.defined() ? ops::linear(x, projection_, {}) : x;
}

TokenOutput::TokenOutput(const TokenOptions& options, int64_t width, const TokenEmbedding& embedding,
                         torch::nn::Module& decoder) {
  if (embedding.adaptive_) {
    adaptive_ = nn::AdaptiveSoftmax(
        embedding.adaptive_, width,
        nn::AdaptiveSoftmaxOptions{options.adaptive_dropout, options.tie_projections, options.released_loss});
    decoder.register_module("adaptive_softmax", adaptive_.ptr());
  } else if (options.tie_output) {
    weight_ = embedding.weight_;
  } else {
    const torch::NoGradGuard guard;
    weight_ = register_weight(decoder, "output_projection", {options.vocabulary, width});
    weight_.normal_(0.0, inverse_root(width));
  }
}

Tensor TokenOutput::losses(const Tensor& features, const Tensor& targets) {
  return adaptive_ ? adaptive_->losses(features, targets) : ops::softmax_losses(features, weight_, targets);
}

Tensor TokenOutput::log_probabilities(const Tensor& features) {
  return adaptive_ ? adaptive_->log_probabilities(features)
                   : torch::log_softmax(ops::linear(features, weight_, {}), -1);
}

}  // namespace mega::models
