#include "mega/baselines/luna.h"

#include <algorithm>
#include <cmath>

#include "mega/base/error.h"
#include "mega/baselines/transformer_layer.h"
#include "mega/ops/attention.h"
#include "mega/ops/check.h"
#include "mega/ops/dropout.h"
#include "mega/ops/heads.h"
#include "mega/ops/linear.h"
#include "mega/ops/linear_attention.h"
#include "mega/ops/watch.h"

namespace mega::baselines {
namespace {

using torch::Tensor;

constexpr SinusoidForm kPackedSinusoids{0, true, false};

Tensor project(const torch::nn::Linear& layer, const Tensor& x) {
  return ops::linear(x, layer->weight, layer->bias);
}

// Keys whose bias shifts all scores of a query equally, which softmax ignores.
Tensor project_keys(const torch::nn::Linear& layer, const Tensor& x) {
  return ops::linear(x, layer->weight, {});
}

Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, int64_t heads,
              const ops::Dropout& dropout) {
  ops::AttentionSettings settings;
  settings.heads = heads;
  settings.dropout = dropout;
  return ops::attention(q, k, v, {}, mask, settings);
}

double root(int64_t n) { return std::sqrt(static_cast<double>(n)); }

}  // namespace

LunaAttentionImpl::LunaAttentionImpl(const LunaOptions& options)
    : options_(options),
      pack_query_(options.width, options.width),
      pack_key_(options.width, options.width),
      pack_value_(options.tie_keys ? pack_key_ : torch::nn::Linear(options.width, options.width)),
      query_(options.width, options.width),
      key_(options.width, options.width),
      value_(options.tie_keys ? key_ : torch::nn::Linear(options.width, options.width)),
      out_(options.width, options.width) {
  register_module("pq_proj", pack_query_);
  register_module(options.tie_keys ? "pc_proj" : "pk_proj", pack_key_);
  if (!options.tie_keys) register_module("pv_proj", pack_value_);
  register_module("q_proj", query_);
  register_module(options.tie_keys ? "c_proj" : "k_proj", key_);
  if (!options.tie_keys) register_module("v_proj", value_);
  register_module("out_proj", out_);
}

LunaPair LunaAttentionImpl::forward(const LunaPair& pair, const Tensor& mask, const Tensor& packed_mask) {
  const auto keys_and_values = [&](const torch::nn::Linear& key, const torch::nn::Linear& value,
                                   const Tensor& x) {
    const Tensor v = project(value, x);
    return std::make_pair(options_.tie_keys ? v : project_keys(key, x), v);
  };
  const auto dropout = [&] { return ops::draw_dropout(options_.attention_dropout, is_training()); };
  const auto [pack_keys, pack_values] = keys_and_values(pack_key_, pack_value_, pair.x);
  const Tensor context =
      attend(project(pack_query_, pair.packed), pack_keys, pack_values, mask, options_.pack_heads, dropout());
  const auto [keys, values] = keys_and_values(key_, value_, context);
  const Tensor read = attend(project(query_, pair.x), keys, values, packed_mask, options_.heads, dropout());
  return {project(out_, read), context};
}

LunaLayerImpl::LunaLayerImpl(const LunaOptions& options)
    : attention(options),
      options_(options),
      attention_norm_(layer_norm(options.width)),
      packed_norm_(layer_norm(options.width)),
      final_norm_(layer_norm(options.width)),
      fc1_(options.width, options.hidden),
      fc2_(options.hidden, options.width) {
  register_module("self_attn", attention);
  register_module("self_attn_layer_norm", attention_norm_);
  register_module("self_atten_proj_layer_norm", packed_norm_);  // the released spelling
  register_module("fc1", fc1_);
  register_module("fc2", fc2_);
  register_module("final_layer_norm", final_norm_);
}

LunaPair LunaLayerImpl::forward(const LunaPair& pair, const Tensor& mask, const Tensor& packed_mask) {
  ops::check_sequence("Luna layer", pair.x, options_.width, fc1_->weight);
  const auto before = [&](torch::nn::LayerNorm& norm, const Tensor& x) {
    return options_.prenorm ? norm->forward(x) : x;
  };
  const auto after = [&](torch::nn::LayerNorm& norm, const Tensor& x, const Tensor& change) {
    const Tensor sum = x + ops::dropout(change, ops::draw_dropout(options_.dropout, is_training()));
    return options_.prenorm ? sum : norm->forward(sum);
  };
  const LunaPair change = attention->forward(
      {before(attention_norm_, pair.x), before(packed_norm_, pair.packed)}, mask, packed_mask);
  const Tensor x = after(attention_norm_, pair.x, change.x);
  const Tensor packed = after(packed_norm_, pair.packed, change.packed);
  const Tensor hidden = project(fc1_, before(final_norm_, x));
  const auto inside = ops::draw_dropout(options_.activation_dropout, is_training());
  const Tensor fed = ops::activated_linear(hidden, options_.activation, inside, fc2_->weight, fc2_->bias);
  return {after(final_norm_, x, fed), packed};
}

LunaStack::LunaStack(const LunaOptions& options, torch::nn::Module& holder)
    : options_(options),
      holder_(holder),
      positions_(options.width),
      packed_positions_(options.width, kPackedSinusoids) {
  const int64_t width = options.width;
  packed_embeddings_ =
      holder.register_parameter("projected_embeddings", torch::empty({options.packed, width}));
  if (options.normalize_embedding) {
    embedding_norm_ = holder.register_module("emb_layer_norm", layer_norm(width));
    packed_embedding_norm_ = holder.register_module("proj_emb_layer_norm", layer_norm(width));
  }
  for (int64_t i = 0; i < options.layers; ++i) {
    if (i > 0 && options.share_layers) {
      layers_.push_back(layers_.front());
      continue;
    }
    layers_.emplace_back(options);
    list_->push_back(layers_.back());
  }
  holder.register_module("layers", list_);
  if (options.prenorm) final_norm_ = holder.register_module("layer_norm", layer_norm(width));
}

void LunaStack::reset_parameters() {
  const torch::NoGradGuard guard;
  packed_embeddings_.normal_(0.0, 1.0 / root(options_.width));
  reset_layers(*list_);
}

Tensor LunaStack::forward(Tensor x, const Tensor& mask, nn::State* state, const nn::Source& source) {
  require(state == nullptr && !source.encoded.defined(), "Luna reads whole sequences: no state, no source");
  int64_t length = x.size(1);
  Tensor packed_mask;
  if (mask.defined()) {
    const Tensor lengths = (~mask).sum(1);
    length = lengths.max().item<int64_t>();
    const int64_t used = std::min(options_.packed, length);
    packed_mask = torch::arange(used, lengths.options()).unsqueeze(0) >= lengths.unsqueeze(1);
    if (!packed_mask.any().item<bool>()) packed_mask = Tensor();
  }
  const int64_t used = std::min(options_.packed, length);
  Tensor packed = packed_embeddings_.narrow(0, 0, used) * root(options_.width) +
                  packed_positions_.rows(0, used, x.options());
  x = x + positions_.rows(0, x.size(1), x.options());
  if (embedding_norm_) {
    x = embedding_norm_->forward(x);
    packed = packed_embedding_norm_->forward(packed);
  }
  x = nn::begin_stack(x, mask, options_.dropout, holder_.is_training());
  packed = ops::dropout(packed.unsqueeze(0).expand({x.size(0), -1, -1}),
                        ops::draw_dropout(options_.dropout, holder_.is_training()));
  LunaPair pair{x, packed};
  for (size_t i = 0; i < layers_.size(); ++i) {
    pair = layers_[i]->forward(pair, mask, packed_mask);
    ops::watch("layers." + std::to_string(i), pair.x);
  }
  return nn::zero_padding(final_norm_ ? final_norm_->forward(pair.x) : pair.x, mask);
}

LunaImpl::LunaImpl(const LunaOptions& options)
    : EncoderModel(options, options.documents, options.width, options.dropout) {
  models::InputEmbedding embedding(options, options.width, kInitialDeviation);
  encoder().register_module("embed_tokens", embedding);
  auto stack = std::make_unique<LunaStack>(options, encoder());
  embedding->reset_parameters();
  stack->reset_parameters();
  set_encoder(embedding, std::move(stack), options.input == InputKind::tokens ? root(options.width) : 1.0);
}

Tensor causal_luna_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& scores,
                             const Tensor& packed, int64_t heads) {
  const auto by_head = [&](const Tensor& x) { return ops::split_heads(x, heads).flatten(0, 1); };
  const double scale = 1.0 / root(q.size(2) / heads);
  // log(1 + 2^s) / log 2 of the packed sequence's scores, (N, L, P)
  const Tensor logits = torch::matmul(by_head(scores), by_head(packed).transpose(1, 2)) * scale;
  const Tensor shares = torch::softplus(logits, std::log(2.0));
  const Tensor count = torch::arange(1, q.size(1) + 1, q.options().requires_grad(false)).view({1, -1, 1});
  const Tensor weights =
      torch::softmax(ops::causal_products(by_head(q) * scale, by_head(k), shares) / count, -1);
  const Tensor y = ops::causal_products(weights, shares, by_head(v)) / count;
  return ops::join_heads(y.view({q.size(0), heads, q.size(1), -1}));
}

}  // namespace mega::baselines
