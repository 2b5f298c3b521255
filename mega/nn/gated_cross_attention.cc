#include "mega/nn/gated_cross_attention.h"

#include "mega/base/error.h"
#include "mega/ops/activation.h"
#include "mega/ops/attention.h"
#include "mega/ops/check.h"
#include "mega/ops/linear.h"

namespace mega::nn {

using torch::Tensor;

GatedCrossAttentionImpl::GatedCrossAttentionImpl(const BlockOptions& options) : options_(options) {
  validate(options);
  const int64_t d = options.width, z = options.shared;
  norm = register_module("norm", SequenceNorm(d, plain_norm(options.norm), options.affine));
  k_proj = register_module("k_proj", torch::nn::Linear(d, z));
  v_proj = register_module("v_proj", torch::nn::Linear(d, d));
  q_proj = register_module("q_proj", torch::nn::Linear(d, 2 * d + z));
  h_proj = register_module("h_proj", torch::nn::Linear(d, d));
  rel_pos_bias =
      register_module("rel_pos_bias", make_position(options.position, z, options.max_positions, false));
  reset_parameters();
}

void GatedCrossAttentionImpl::reset_parameters() {
  const torch::NoGradGuard guard;
  for (auto& linear : {k_proj, v_proj, q_proj, h_proj}) {
    linear->weight.normal_(0.0, 0.02);
    linear->bias.zero_();
  }
}

void GatedCrossAttentionImpl::pretty_print(std::ostream& stream) const {
  stream << "GatedCrossAttention(D=" << options_.width << ", Z=" << options_.shared << ", "
         << to_string(options_.attention) << ", " << to_string(options_.position) << ")";
}

Tensor GatedCrossAttentionImpl::drop(const Tensor& x, double rate) {
  const auto dropout = ops::draw_dropout(rate, is_training());
  return options_.feature_dropout ? ops::feature_dropout(x, dropout) : ops::dropout(x, dropout);
}

// Like the Mega layer, but without EMA, with linear queries and keys, and with a candidate computed from the
// attention alone. The source is not normalised here.
Tensor GatedCrossAttentionImpl::forward(const Tensor& query, const Tensor& source, const Tensor& source_mask,
                                        CrossAttentionState* state) {
  ops::check_sequence("gated cross attention, target", query, options_.width, k_proj->weight);
  const bool first = state == nullptr || !state->keys.defined();
  Tensor keys, values, mask = source_mask;
  if (first) {
    ops::check_sequence("gated cross attention, source", source, options_.width, k_proj->weight);
    require(source.size(0) == query.size(0), "gated cross attention: ", query.size(0), " targets for ",
            source.size(0), " sources");
    keys = ops::linear(source, k_proj->weight, k_proj->bias);
    values = drop(ops::activate(ops::linear(source, v_proj->weight, v_proj->bias), options_.activation),
                  options_.hidden_dropout);
    rel_pos_bias->check_length(keys.size(1));
    if (rel_pos_bias->changes_queries())
      keys = rel_pos_bias->keys(keys, torch::arange(keys.size(1), torch::kInt64).to(keys.device()));
  } else {
    keys = state->keys;
    values = state->values;
    require(keys.dim() == 3 && values.dim() == 3 && keys.size(0) == query.size(0) &&
                values.sizes() == c10::IntArrayRef({keys.size(0), keys.size(1), options_.width}) &&
                keys.scalar_type() == query.scalar_type() && values.scalar_type() == query.scalar_type(),
            "gated cross attention: a state with keys ", keys.sizes(), " and values ", values.sizes(), " of ",
            keys.scalar_type(), " does not fit targets ", query.sizes(), " of ", query.scalar_type());
    if (!mask.defined()) mask = state->padding;
  }
  ops::check_mask("gated cross attention", mask, keys.size(0), keys.size(1));

  const int64_t position = state == nullptr ? 0 : state->position, length = query.size(1);
  rel_pos_bias->check_length(position + length);
  const Tensor input = options_.prenorm ? norm->forward(query) : query;
  const auto parts = ops::linear(input, q_proj->weight, q_proj->bias)
                         .split_with_sizes({options_.width, options_.width, options_.shared}, -1);
  const Tensor update = ops::activate(parts[0], Activation::sigmoid);
  const Tensor reset = ops::activate(parts[1], Activation::silu);
  Tensor q = parts[2];
  if (rel_pos_bias->changes_queries())
    q = rel_pos_bias->queries(
        q, torch::arange(position, position + length, torch::TensorOptions(torch::kInt64)).to(q.device()));

  ops::AttentionSettings settings;
  settings.function = options_.attention;
  settings.first_position = position;
  settings.content = options_.shared;
  settings.dropout = ops::draw_dropout(options_.attention_dropout, is_training());
  const auto bias = rel_pos_bias->bias(1 - position - length, keys.size(1) - 1);
  const Tensor attended = ops::attention(q, keys, values, bias, mask, settings);
  const Tensor candidate =
      drop(ops::activate(ops::linear(attended * reset, h_proj->weight, h_proj->bias), options_.activation),
           options_.dropout);
  const Tensor y = query + update * (candidate - query);
  if (state != nullptr) *state = {keys, values, mask, position + length};
  return options_.prenorm ? y : norm->forward(y);
}

}  // namespace mega::nn
