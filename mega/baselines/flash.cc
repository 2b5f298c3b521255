#include "mega/baselines/flash.h"

#include <algorithm>
#include <cmath>

#include "mega/base/error.h"
#include "mega/ops/activation.h"
#include "mega/ops/check.h"
#include "mega/ops/dropout.h"
#include "mega/ops/linear.h"
#include "mega/ops/linear_attention.h"
#include "mega/ops/norm.h"
#include "mega/ops/watch.h"

namespace mega::baselines {
namespace {

using torch::Tensor;

constexpr double kScaleEpsilon = 1e-6, kEpsilon = 1e-5, kMomentum = 0.1, kDeviation = 0.02;

// Whole chunks of x (B, L, X), the last one with zeros at its end: (B, K, C, X).
Tensor in_chunks(const Tensor& x, int64_t chunk) {
  const int64_t chunks = (x.size(1) + chunk - 1) / chunk;
  return torch::constant_pad_nd(x, {0, 0, 0, chunks * chunk - x.size(1)})
      .view({x.size(0), chunks, chunk, x.size(2)});
}

// What ops::attention divides the scores of each query by, (B or 1, L, 1).
Tensor divisor(const Tensor& q, const Tensor& mask, int64_t chunk, bool causal) {
  const auto options = q.options().requires_grad(false);
  const int64_t length = q.size(1);
  if (causal) return (torch::arange(length, options) % static_cast<double>(chunk) + 1).view({1, -1, 1});
  const Tensor seen =
      mask.defined() ? (~mask).to(q.scalar_type()).unsqueeze(2) : torch::ones({1, length, 1}, options);
  const Tensor counts = in_chunks(seen, chunk).sum(2, true).clamp_min(1);  // (B, K, 1, 1)
  return counts.expand({-1, -1, chunk, -1}).flatten(1, 2).narrow(1, 0, length);
}

ops::AttentionSettings relu2_settings(bool causal, int64_t chunk, const ops::Dropout& dropout) {
  ops::AttentionSettings settings;
  settings.function = AttentionFunction::relu2;
  settings.causal = causal;
  settings.chunk = chunk;
  settings.dropout = dropout;
  return settings;
}

}  // namespace

Tensor quadratic_attention(const Tensor& q, const Tensor& k, const Tensor& v, const ops::RelativeBias& bias,
                           const Tensor& mask, bool causal, const ops::Dropout& dropout) {
  Tensor scaled = q;
  if (causal) scaled = q * divisor(q, mask, q.size(1), true) / divisor(q, mask, q.size(1), false);
  return ops::attention(scaled, k, v, bias, mask, relu2_settings(causal, -1, dropout));
}

Tensor mixed_attention(const MixedQueries& queries, const Tensor& v, const ops::RelativeBias& bias,
                       const Tensor& mask, int64_t chunk, bool causal, const ops::Dropout& dropout) {
  const double size = static_cast<double>(chunk);
  const Tensor q = queries.quadratic_q * (divisor(queries.quadratic_q, mask, chunk, causal) / size);
  const Tensor quadratic =
      ops::attention(q, queries.quadratic_k, v, bias, mask, relu2_settings(causal, chunk, dropout));
  const Tensor keys = nn::zero_padding(queries.linear_k, mask);
  if (!causal) {
    const Tensor sum = torch::matmul(keys.transpose(1, 2), v) / static_cast<double>(v.size(1));
    return quadratic + torch::matmul(queries.linear_q, sum);
  }
  const Tensor sums = torch::matmul(in_chunks(keys, chunk).transpose(2, 3), in_chunks(v, chunk)) / size;
  const Tensor linear = torch::matmul(in_chunks(queries.linear_q, chunk), ops::sums_before(sums));
  return quadratic + linear.flatten(1, 2).narrow(1, 0, v.size(1));
}

GatedAttentionUnitImpl::GatedAttentionUnitImpl(const FlashOptions& options, bool causal)
    : options_(options),
      causal_(causal),
      proj_(options.width, 2 * options.values + options.shared),
      out_proj_(options.values, options.width) {
  const bool mixed = options.form == FlashForm::mixed;
  gamma_ = register_parameter("gamma", torch::empty({mixed ? 4 : 2, options.shared}));
  beta_ = register_parameter("beta", torch::empty({mixed ? 4 : 2, options.shared}));
  register_module("proj", proj_);
  register_module("out_proj", out_proj_);
  position_ =
      register_module("rel_pos_bias", nn::make_position(mixed ? PositionKind::t5 : PositionKind::simple,
                                                        options.shared, options.max_positions, causal));
  reset_parameters();
}

void GatedAttentionUnitImpl::reset_parameters() {
  const torch::NoGradGuard guard;
  for (const Tensor& weight : {gamma_, proj_->weight, out_proj_->weight}) weight.normal_(0.0, kDeviation);
  for (const Tensor& bias : {beta_, proj_->bias, out_proj_->bias}) bias.zero_();
}

Tensor GatedAttentionUnitImpl::forward(const Tensor& x, const Tensor& mask) {
  ops::check_sequence("gated attention unit", x, options_.width, proj_->weight);
  const int64_t v = options_.values, z = options_.shared, length = x.size(1);
  const Tensor all = ops::activate(ops::linear(x, proj_->weight, proj_->bias), Activation::silu);
  const Tensor gate = all.narrow(2, 0, v), values = all.narrow(2, v, v), base = all.narrow(2, 2 * v, z);
  const auto copy = [&](int64_t i) { return base * gamma_[i] + beta_[i]; };
  const auto dropout = ops::draw_dropout(options_.attention_dropout, is_training());
  Tensor read;
  if (options_.form == FlashForm::quadratic) {
    position_->check_length(length);
    read = quadratic_attention(copy(0), copy(1), values, position_->bias(1 - length, length - 1), mask,
                               causal_, dropout);
  } else {
    const int64_t reach = std::min(options_.chunk, length) - 1;
    ops::RelativeBias bias = position_->bias(-reach, reach);
    bias.values = bias.values * std::sqrt(static_cast<double>(z));
    read = mixed_attention({copy(0), copy(1), copy(2), copy(3)}, values, bias, mask, options_.chunk, causal_,
                           dropout);
  }
  return ops::linear(read * gate, out_proj_->weight, out_proj_->bias);
}

FlashNormImpl::FlashNormImpl(const FlashOptions& options) : kind_(options.norm) {
  const int64_t width = options.width;
  if (kind_ == NormKind::scale) {
    weight_ = register_parameter("scalar", torch::ones({1}));
    return;
  }
  weight_ = register_parameter("weight", torch::ones({width}));
  bias_ = register_parameter("bias", torch::zeros({width}));
  if (kind_ != NormKind::batch) return;
  running_mean_ = register_buffer("running_mean", torch::zeros({width}));
  running_variance_ = register_buffer("running_var", torch::ones({width}));
  batches_ = register_buffer("num_batches_tracked", torch::zeros({}, torch::kInt64));
}

Tensor FlashNormImpl::forward(const Tensor& x) {
  if (kind_ == NormKind::scale) return ops::rms_norm(x, weight_, kScaleEpsilon);
  if (kind_ == NormKind::layer) return torch::layer_norm(x, {x.size(2)}, weight_, bias_, kEpsilon);
  if (is_training()) batches_ += 1;
  return torch::batch_norm(x.flatten(0, 1), weight_, bias_, running_mean_, running_variance_, is_training(),
                           kMomentum, kEpsilon, /*cudnn_enabled=*/false)
      .view_as(x);
}

FlashLayerImpl::FlashLayerImpl(const FlashOptions& options)
    : pre_norm(register_module("pre_norm", FlashNorm(options))),
      gau(register_module("gau", GatedAttentionUnit(options))),
      options_(options) {}

Tensor FlashLayerImpl::forward(const Tensor& x, const Tensor& mask) {
  const Tensor y = gau->forward(pre_norm->forward(x), mask);
  return x + ops::dropout(y, ops::draw_dropout(options_.dropout, is_training()));
}

FlashStack::FlashStack(const FlashOptions& options, torch::nn::Module& holder)
    : options_(options), holder_(holder), final_norm_(options) {
  for (int64_t i = 0; i < options.layers; ++i) {
    layers_.emplace_back(options);
    list_->push_back(layers_.back());
  }
  holder.register_module("layers", list_);
  holder.register_module("final_norm", final_norm_);
}

Tensor FlashStack::forward(Tensor x, const Tensor& mask, nn::State* state, const nn::Source& source) {
  require(state == nullptr && !source.encoded.defined(), "Flash reads whole sequences: no state, no source");
  x = nn::begin_stack(x, mask, options_.dropout, holder_.is_training());
  for (size_t i = 0; i < layers_.size(); ++i) {
    x = layers_[i]->forward(x, mask);
    ops::watch("layers." + std::to_string(i), x);
  }
  return nn::zero_padding(final_norm_->forward(x), mask);
}

FlashImpl::FlashImpl(const FlashOptions& options)
    : EncoderModel(options, options.documents, options.width, options.dropout) {
  models::InputEmbedding embedding(options, options.width,
                                   1.0 / std::sqrt(static_cast<double>(options.width)));
  encoder().register_module("embed_tokens", embedding);
  auto stack = std::make_unique<FlashStack>(options, encoder());
  embedding->reset_parameters();
  set_encoder(embedding, std::move(stack));
}

}  // namespace mega::baselines
