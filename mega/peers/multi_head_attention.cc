#include "mega/peers/multi_head_attention.h"

#include "mega/ops/attention.h"
#include "mega/ops/dropout.h"
#include "mega/ops/linear.h"

namespace mega::peers {
namespace {

using torch::Tensor;

// (B, L, D) -> (B * heads, L, D / heads): to the attention, a head is one more sequence.
Tensor split_heads(const Tensor& x, int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, -1}).transpose(1, 2).flatten(0, 1);
}

// The way back.
Tensor join_heads(const Tensor& x, int64_t heads) {
  return x.view({-1, heads, x.size(1), x.size(2)}).transpose(1, 2).flatten(2, 3);
}

}  // namespace

MultiHeadAttentionImpl::MultiHeadAttentionImpl(int64_t width, int64_t heads, double dropout)
    : heads_(heads), dropout_(dropout) {
  q_proj = register_module("q_proj", torch::nn::Linear(width, width));
  k_proj = register_module("k_proj", torch::nn::Linear(width, width));
  v_proj = register_module("v_proj", torch::nn::Linear(width, width));
  out_proj = register_module("out_proj", torch::nn::Linear(width, width));
}

Tensor MultiHeadAttentionImpl::forward(const Tensor& x, const Tensor& mask) {
  const auto project = [&](const Tensor& weight, const Tensor& bias) {
    return split_heads(ops::linear(x, weight, bias), heads_);
  };
  const Tensor q = project(q_proj->weight, q_proj->bias), v = project(v_proj->weight, v_proj->bias);
  // The keys' bias moves all scores of a query alike, which softmax does not see: left out, its gradient is
  // the zero that it is by algebra, not what rounding makes of it.
  const Tensor k = project(k_proj->weight, Tensor());
  ops::AttentionSettings settings;  // softmax of q.k / sqrt(D / heads)
  settings.dropout = ops::draw_dropout(dropout_, is_training());
  const Tensor attended =
      ops::attention(q, k, v, {}, mask.defined() ? mask.repeat_interleave(heads_, 0) : mask, settings);
  return ops::linear(join_heads(attended, heads_), out_proj->weight, out_proj->bias);
}

}  // namespace mega::peers
