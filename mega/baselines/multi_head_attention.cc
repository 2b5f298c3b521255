#include "mega/baselines/multi_head_attention.h"

#include "mega/base/error.h"
#include "mega/ops/check.h"
#include "mega/ops/dropout.h"
#include "mega/ops/linear.h"

namespace mega::baselines {
namespace {

using torch::Tensor;

// Concatenates along positions, the state's tensor first.
Tensor append(const Tensor& earlier, const Tensor& x) {
  return earlier.defined() ? torch::cat({earlier, x}, 1) : x;
}

// Undefined if nothing is padded.
Tensor append_padding(const nn::GatedAttentionState& state, const Tensor& mask, const Tensor& x) {
  if (!mask.defined() && !state.padding.defined()) return {};
  const auto or_none = [&](const Tensor& padding, int64_t positions) {
    return padding.defined() ? padding
                             : torch::zeros({x.size(0), positions}, x.options().dtype(torch::kBool));
  };
  return torch::cat({or_none(state.padding, state.position), or_none(mask, x.size(1))}, 1);
}

}  // namespace

MultiHeadAttentionImpl::MultiHeadAttentionImpl(int64_t width, int64_t heads, bool causal, double dropout)
    : width_(width), heads_(heads), causal_(causal), dropout_(dropout) {
  q_proj = register_module("q_proj", torch::nn::Linear(width, width));
  k_proj = register_module("k_proj", torch::nn::Linear(width, width));
  v_proj = register_module("v_proj", torch::nn::Linear(width, width));
  out_proj = register_module("out_proj", torch::nn::Linear(width, width));
}

Tensor MultiHeadAttentionImpl::queries(const Tensor& x) {
  return ops::linear(x, q_proj->weight, q_proj->bias);
}

// A bias of the keys shifts all scores of a query equally, which softmax ignores. It is omitted, so that
// its gradient is exactly zero instead of rounding noise.
Tensor MultiHeadAttentionImpl::keys(const Tensor& x) { return ops::linear(x, k_proj->weight, Tensor()); }

Tensor MultiHeadAttentionImpl::values(const Tensor& x) {
  return ops::linear(x, v_proj->weight, v_proj->bias);
}

// Softmax of q.k / sqrt(D / heads).
Tensor MultiHeadAttentionImpl::attend(const Tensor& q, const Tensor& k, const Tensor& v,
                                      const ops::RelativeBias& bias, const Tensor& padding, bool causal,
                                      int64_t first_position) {
  ops::AttentionSettings settings;
  settings.heads = heads_;
  settings.causal = causal;
  settings.first_position = first_position;
  settings.dropout = ops::draw_dropout(dropout_, is_training());
  const Tensor attended = ops::attention(q, k, v, bias, padding, settings);
  return ops::linear(attended, out_proj->weight, out_proj->bias);
}

Tensor MultiHeadAttentionImpl::forward(const Tensor& x, const Tensor& mask, const ops::RelativeBias& bias,
                                       nn::GatedAttentionState* state) {
  const Tensor q = queries(x);
  Tensor k = keys(x), v = values(x), padding = mask;
  int64_t position = 0;
  if (state != nullptr) {
    check_state(*state, x.size(0));
    position = state->position;
    k = append(state->keys, k);
    v = append(state->values, v);
    padding = append_padding(*state, mask, x);
    *state = {.ema = {}, .keys = k, .values = v, .padding = padding, .position = k.size(1), .norm = {}};
  }
  return attend(q, k, v, bias, padding, causal_, position);
}

Tensor MultiHeadAttentionImpl::forward_cross(const Tensor& x, const nn::Source& source,
                                             nn::CrossAttentionState* state) {
  nn::CrossAttentionState read;
  if (state != nullptr) read = *state;
  if (!read.keys.defined()) {
    require(source.encoded.defined(), "attention to a source needs one");
    ops::check_sequence("attention to a source", source.encoded, width_, k_proj->weight);
    ops::check_mask("attention to a source", source.mask, source.encoded.size(0), source.encoded.size(1));
    read = {keys(source.encoded), values(source.encoded), source.mask, 0};
  }
  check_state(read, x.size(0));
  const Tensor y = attend(queries(x), read.keys, read.values, {}, read.padding, /*causal=*/false, 0);
  read.position += x.size(1);
  if (state != nullptr) *state = read;
  return y;
}

void MultiHeadAttentionImpl::check_state(const nn::GatedAttentionState& state, int64_t batch) const {
  require(causal_, "a state needs causal attention: later positions must not matter");
  const bool empty = state.position == 0 && !state.keys.defined() && !state.values.defined();
  const auto fits = [&](const Tensor& x) {
    return x.defined() && x.sizes() == torch::IntArrayRef({batch, state.position, width_}) &&
           x.scalar_type() == k_proj->weight.scalar_type();
  };
  require(empty || (fits(state.keys) && fits(state.values)), "the state at position ", state.position,
          " does not hold keys and values for ", batch, " sequences of a Transformer of width ", width_);
  require(!state.padding.defined() || (state.padding.sizes() == torch::IntArrayRef({batch, state.position}) &&
                                       state.padding.scalar_type() == torch::kBool),
          "the state's padding does not fit ", batch, " sequences at position ", state.position);
}

void MultiHeadAttentionImpl::check_state(const nn::CrossAttentionState& state, int64_t batch) const {
  const auto fits = [&](const Tensor& x) {
    return x.defined() && x.dim() == 3 && x.size(0) == batch && x.size(1) == state.keys.size(1) &&
           x.size(2) == width_ && x.scalar_type() == k_proj->weight.scalar_type();
  };
  require(fits(state.keys) && fits(state.values), "keys ", state.keys.sizes(), " and values of a source do ",
          "not fit ", batch, " sequences of a Transformer of width ", width_);
  ops::check_mask("attention to a source", state.padding, batch, state.keys.size(1));
}

}  // namespace mega::baselines
