#include "mega/baselines/arena_model.h"

#include "mega/base/error.h"
#include "mega/models/padding.h"
#include "mega/ops/activation.h"
#include "mega/ops/check.h"
#include "mega/ops/dropout.h"
#include "mega/ops/linear.h"
#include "mega/ops/watch.h"

namespace mega::baselines {
namespace {

using torch::Tensor;

constexpr SinusoidForm kArenaSinusoids{0, false, true};
constexpr double kNormEpsilon = 1e-6, kTokenDeviation = 1.0, kBiasDeviation = 1e-6;

torch::nn::LayerNorm arena_norm(int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}).eps(kNormEpsilon));
}

}  // namespace

ArenaBlock::ArenaBlock(const ArenaOptions& options, std::shared_ptr<ArenaAttention> attention)
    : dropout_(options.dropout),
      attention_(register_module("attn", std::move(attention))),
      norm1_(register_module("norm1", arena_norm(options.width))),
      norm2_(register_module("norm2", arena_norm(options.width))),
      fc1_(register_module("fc1", torch::nn::Linear(options.width, options.hidden))),
      fc2_(register_module("fc2", torch::nn::Linear(options.hidden, options.width))) {}

Tensor ArenaBlock::forward(const Tensor& x, const Tensor& mask) {
  const auto dropped = [&](const Tensor& y) {
    return ops::dropout(y, ops::draw_dropout(dropout_, is_training()));
  };
  const Tensor y = x + dropped(attention_->forward(norm1_->forward(x), mask));
  const auto inside = ops::draw_dropout(dropout_, is_training());
  const Tensor hidden = ops::linear(norm2_->forward(y), fc1_->weight, fc1_->bias);
  return y + dropped(ops::activated_linear(hidden, Activation::gelu_tanh, inside, fc2_->weight, fc2_->bias));
}

void ArenaBlock::reset_parameters() {
  const torch::NoGradGuard guard;
  for (const auto& module : modules()) {
    auto* linear = module->as<torch::nn::Linear>();
    if (linear == nullptr) continue;
    torch::nn::init::xavier_uniform_(linear->weight);
    if (linear->bias.defined()) linear->bias.normal_(0.0, kBiasDeviation);
  }
}

ArenaModel::ArenaModel(const ArenaOptions& options, const MakeAttention& make)
    : has_cls_(options.has_own_cls()),
      arena_padding_(options.arena_padding),
      channels_(options.channels),
      max_length_(options.max_length()),
      pooling_(options.pooling),
      documents_(static_cast<size_t>(options.documents)),
      dropout_(options.dropout),
      positions_(options.width, kArenaSinusoids),
      embed_(register_module("embed", models::InputEmbedding(options, options.width, kTokenDeviation))),
      norm_(arena_norm(options.width)),
      mlp_(options.documents * options.width, options.head),
      logits_(options.head, options.classes) {
  if (has_cls_) cls_ = register_parameter("cls", torch::zeros({1, 1, options.width}));
  auto blocks = std::make_shared<torch::nn::Module>();
  for (int64_t i = 0; i < options.layers; ++i)
    blocks_.push_back(
        blocks->register_module(std::to_string(i), std::make_shared<ArenaBlock>(options, make(i))));
  register_module("blocks", blocks);
  register_module("norm", norm_);
  register_module("mlp", mlp_);
  register_module("logits", logits_);
  reset_parameters();
}

void ArenaModel::reset_parameters() {
  const torch::NoGradGuard guard;
  embed_->reset_parameters();
  if (has_cls_) cls_.zero_();
  for (const auto& block : blocks_) block->reset_parameters();
  for (const auto& layer : {mlp_, logits_}) {
    torch::nn::init::xavier_uniform_(layer->weight);
    layer->bias.zero_();
  }
}

Tensor ArenaModel::encode(const models::Sequences& document) {
  const models::Padding padding(document, channels_);
  const int64_t length = document.values.size(1);
  require(max_length_ == 0 || length <= max_length_, "a sequence of ", length,
          " positions is longer than max_positions = ", max_length_);
  Tensor x = embed_->forward(document.values), mask = padding.mask();
  if (has_cls_) {
    x = torch::cat({cls_.expand({x.size(0), 1, -1}), x}, 1);
    if (mask.defined()) mask = torch::constant_pad_nd(mask, {1, 0}, false);
  }
  x = x + positions_.rows(0, x.size(1), x.options());
  ops::check_sequence("arena encoder", x, norm_->weight.size(0), norm_->weight);
  x = ops::dropout(x, ops::draw_dropout(dropout_, is_training()));
  for (size_t i = 0; i < blocks_.size(); ++i) {
    x = blocks_[i]->forward(x, mask);
    ops::watch("blocks." + std::to_string(i), x);
  }
  x = norm_->forward(x);
  return arena_padding_ && pooling_ == Pooling::mean ? x.mean(1) : padding.pool(x, pooling_);
}

Tensor ArenaModel::predict(const std::vector<models::Sequences>& documents) {
  require(documents.size() == documents_, "this model reads ",
          documents_ == 1 ? "one document" : "two documents", ", not ", documents.size());
  std::vector<Tensor> encoded;
  for (const models::Sequences& document : documents) encoded.push_back(encode(document));
  const Tensor hidden = ops::linear(torch::cat(encoded, 1), mlp_->weight, mlp_->bias);
  const Tensor outputs = ops::activated_linear(hidden, Activation::relu, {}, logits_->weight, logits_->bias);
  ops::watch("logits", outputs);
  return outputs;
}

}  // namespace mega::baselines
