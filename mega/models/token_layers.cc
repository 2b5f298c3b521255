#include "mega/models/token_layers.h"

#include <cmath>

#include "mega/base/error.h"
#include "mega/ops/linear.h"
#include "mega/ops/softmax_loss.h"
#include "mega/text/tokens.h"

namespace mega::models {
namespace {

using torch::Tensor;

double root(int64_t width) { return std::sqrt(static_cast<double>(width)); }

// Registers a parameter as NAME.PARAMETER of the holder.
Tensor register_weight(torch::nn::Module& holder, const char* name, std::vector<int64_t> sizes,
                       const char* parameter = "weight") {
  const auto children = holder.named_children();
  auto module = children.contains(name) ? children[name] : std::make_shared<torch::nn::Module>();
  if (!children.contains(name)) holder.register_module(name, module);
  return module->register_parameter(parameter, torch::empty(sizes));
}

Tensor register_embeddings(torch::nn::Module& holder, int64_t vocabulary, int64_t width) {
  const torch::NoGradGuard guard;
  const Tensor weight = register_weight(holder, "embed_tokens", {vocabulary, width});
  weight.normal_(0.0, 1.0 / root(width));
  if (vocabulary > kPad) weight[kPad].zero_();
  return weight;
}

}  // namespace

TokenEmbedding::TokenEmbedding(const TokenOptions& options, int64_t width, torch::nn::Module& decoder)
    : vocabulary_(options.vocabulary), scale_(options.scale_embedding ? root(width) : 1.0) {
  const int64_t embedding = options.embedding_width > 0 ? options.embedding_width : width;
  if (!options.cutoffs.empty()) {
    adaptive_ = nn::AdaptiveEmbedding(
        make_bands(options.cutoffs, options.vocabulary, embedding, options.band_factor), width);
    decoder.register_module("embed_tokens", adaptive_.ptr());
    return;
  }
  weight_ = register_embeddings(decoder, options.vocabulary, embedding);
  if (embedding != width) {
    projection_ = register_weight(decoder, "project_in_dim", {width, embedding});
    torch::nn::init::xavier_uniform_(projection_);
  }
}

TokenEmbedding::TokenEmbedding(int64_t vocabulary, int64_t width, bool scaled, torch::nn::Module& holder)
    : vocabulary_(vocabulary),
      scale_(scaled ? root(width) : 1.0),
      weight_(register_embeddings(holder, vocabulary, width)) {}

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
    *this = TokenOutput(options.vocabulary, width, decoder);
  }
  const torch::NoGradGuard guard;
  if (options.output_dense) {
    dense_ = register_weight(decoder, "output_dense", {width, width});
    dense_bias_ = register_weight(decoder, "output_dense", {width}, "bias");
    torch::nn::init::xavier_uniform_(dense_);
    dense_bias_.zero_();
  }
  if (options.output_bias) {
    bias_ = register_weight(decoder, "output_projection", {options.vocabulary}, "bias");
    bias_.zero_();
  }
}

TokenOutput::TokenOutput(int64_t vocabulary, int64_t width, torch::nn::Module& decoder) {
  const torch::NoGradGuard guard;
  weight_ = register_weight(decoder, "output_projection", {vocabulary, width});
  weight_.normal_(0.0, 1.0 / root(width));
}

Tensor TokenOutput::before(const Tensor& features) const {
  return dense_.defined() ? torch::tanh(ops::linear(features, dense_, dense_bias_)) : features;
}

Tensor TokenOutput::losses(const Tensor& features, const Tensor& targets, double smoothing) {
  const Tensor x = before(features);
  if (!adaptive_ && bias_.defined()) {  // the weights of one more input, which is 1
    const Tensor weight = torch::cat({weight_, bias_.unsqueeze(1)}, 1);
    return ops::softmax_losses(torch::cat({x, torch::ones_like(x.slice(1, 0, 1))}, 1), weight, targets,
                               smoothing);
  }
  if (!adaptive_) return ops::softmax_losses(x, weight_, targets, smoothing);
  require(smoothing == 0.0, "an adaptive softmax has no label smoothing");
  return adaptive_->losses(features, targets);
}

Tensor TokenOutput::log_probabilities(const Tensor& features) {
  return adaptive_ ? adaptive_->log_probabilities(features)
                   : torch::log_softmax(ops::linear(before(features), weight_, bias_), -1);
}

}  // namespace mega::models
