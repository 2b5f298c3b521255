#include "mega/nn/gated_attention.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/nn/sequence_pieces.h"
#include "mega/ops/activation.h"
#include "mega/ops/check.h"
#include "mega/ops/form.h"
#include "mega/ops/gated_attention.h"
#include "mega/ops/linear.h"

namespace mega::nn {

using torch::Tensor;

namespace {

// Whether queries of this process's piece of a sequence see keys of other pieces.
bool shares_keys(const BlockOptions& options) { return sequence_pieces() != nullptr && options.chunk < 0; }

}  // namespace

GatedAttentionImpl::GatedAttentionImpl(const BlockOptions& options)
    : options_(options),
      average_(options.ema.dimension > 0 && options.ema.activated ? Activation::silu : Activation::identity) {
  validate(options);
  const int64_t d = options.width, z = options.shared, v = options.values;
  if (options.norm == NormKind::timestep)
    timestep_norm = register_module("norm", TimestepNorm(d, options.norm_groups, options.affine));
  else
    norm = register_module("norm", SequenceNorm(d, options.norm, options.affine));
  if (options.ema.dimension > 0) move = register_module("move", Ema(d, options.ema));
  v_proj = register_module("v_proj", torch::nn::Linear(d, v));
  mx_proj = register_module("mx_proj", torch::nn::Linear(d, z + v + 2 * d));
  h_proj = register_module("h_proj", torch::nn::Linear(v, d));
  gamma = register_parameter("gamma", torch::empty({2, z}));
  beta = register_parameter("beta", torch::empty({2, z}));
  const int64_t positions = options.chunk > 0 ? options.chunk : options.max_positions;
  rel_pos_bias =
      register_module("rel_pos_bias", make_position(options.position, z, positions, options.causal));
  drop_path = register_module("drop_path", DropPath(options.drop_path));
  reset_parameters();
}

void GatedAttentionImpl::reset_parameters() {
  const torch::NoGradGuard guard;
  for (auto& linear : {v_proj, mx_proj, h_proj}) {
    linear->weight.normal_(0.0, 0.02);
    linear->bias.zero_();
  }
  gamma.normal_(0.0, 0.02);
  beta.zero_();
}

void GatedAttentionImpl::pretty_print(std::ostream& stream) const {
  stream << "GatedAttention(D=" << options_.width << ", Z=" << options_.shared << ", V=" << options_.values
         << ", N=" << options_.ema.dimension << ", " << to_string(options_.attention) << ", "
         << to_string(options_.position) << ", chunk=" << options_.chunk
         << (options_.causal ? ", causal" : "") << ")";
}

Tensor GatedAttentionImpl::forward(const Tensor& x, const Tensor& mask, GatedAttentionState* state) {
  ops::check_sequence("gated attention", x, options_.width, gamma);
  ops::check_mask("gated attention", mask, x.size(0), x.size(1));
  require(state == nullptr || sequence_pieces() == nullptr, "a sequence in pieces carries no state");
  // The caller's state is updated only on success.
  GatedAttentionState next;
  if (state != nullptr) {
    check_state(*state, x.size(0));
    next = *state;
  }
  GatedAttentionState* const stream = state == nullptr ? nullptr : &next;
  const Tensor input = options_.prenorm ? normalized(x, mask, stream) : x;
  // The fused form keeps x; a normalised input it keeps rounded, in one copy with the moving average.
  const bool fuse = can_fuse(x, mask, stream);
  const Tensor sums = move ? move->sums(input, mask, stream == nullptr ? nullptr : &stream->ema,
                                        /*rounded=*/fuse && options_.prenorm)
                           : input;
  const Tensor y = fuse ? fused(x, input, sums, mask) : composed(x, input, sums, mask, stream);
  const Tensor result = options_.prenorm ? y : normalized(y, mask, stream);
  if (state != nullptr) {
    next.position += x.size(1);
    *state = std::move(next);
  }
  return result;
}

Tensor GatedAttentionImpl::normalized(const Tensor& x, const Tensor& mask, GatedAttentionState* state) {
  return timestep_norm ? timestep_norm->forward(x, mask, state == nullptr ? nullptr : &state->norm)
                       : norm->forward(x);
}

// The state must fit this layer and the batch size.
void GatedAttentionImpl::check_state(const GatedAttentionState& state, int64_t batch) const {
  require(options_.causal && !(move && options_.ema.bidirectional),
          "a state needs a causal layer with a unidirectional EMA: later positions must not matter");
  require(state.position >= 0, "the state has an invalid position: ", state.position);
  const int64_t open = options_.chunk > 0 ? state.position % options_.chunk : state.position;
  const auto check = [&](const char* name, const Tensor& x, std::vector<int64_t> sizes,
                         torch::ScalarType type) {
    if (x.defined() && x.sizes() == c10::IntArrayRef(sizes) && x.scalar_type() == type) return;
    fail("the state's ", name, " should be ", type, " ", c10::IntArrayRef(sizes), " for ", batch,
         " sequences at position ", state.position, " of this layer, and is ",
         x.defined() ? c10::str(x.scalar_type(), " ", x.sizes()) : "missing");
  };
  const int64_t columns = options_.position == PositionKind::tupe ? 2 * options_.shared : options_.shared;
  const auto type = gamma.scalar_type();
  if (state.ema.defined() && move)
    check("ema", state.ema, {batch, options_.width, state_numbers(options_.ema)}, type);
  if (state.norm.defined() && timestep_norm)
    check("norm", state.norm, {batch, 2 * options_.norm_groups + 1}, type);
  if (open > 0 || state.keys.defined()) check("keys", state.keys, {batch, open, columns}, type);
  if (open > 0 || state.values.defined()) check("values", state.values, {batch, open, options_.values}, type);
  if (state.padding.defined()) check("padding", state.padding, {batch, open}, torch::kBool);
}

// Equations 6 to 15, one operation each. The gate uses the un-normalised input, also with prenorm.
Tensor GatedAttentionImpl::composed(const Tensor& x, const Tensor& input, const Tensor& sums,
                                    const Tensor& mask, GatedAttentionState* state) {
  const Tensor values = ops::linear(input, v_proj->weight, v_proj->bias);
  const Tensor averaged = drop(ops::activate(sums, average_), options_.dropout);  // 6
  const auto parts =
      ops::linear(averaged, mx_proj->weight, mx_proj->bias)
          .split_with_sizes({options_.width, options_.shared, options_.values, options_.width}, -1);
  const Tensor update = ops::activate(parts[0], Activation::sigmoid);                          // 13
  const Tensor shared = ops::activate(parts[1], Activation::silu);                             // 7
  const Tensor reset = ops::activate(parts[2], Activation::silu);                              // 12
  const Tensor q = shared * gamma[0] + beta[0];                                                // 8
  const Tensor k = shared * gamma[1] + beta[1];                                                // 9
  const Tensor v = drop(ops::activate(values, options_.activation), options_.hidden_dropout);  // 10
  const Tensor attended = attend(q, k, v, mask, state);                                        // 11
  Tensor candidate =
      drop(ops::activate(parts[3] + ops::linear(attended * reset, h_proj->weight, h_proj->bias),
                         options_.activation),
           options_.dropout);  // 14
  // As released, drop path is inside the gate: without the candidate, (1 - update) x is left, not x.
  if (const Tensor path = drop_path->draw(x); path.defined()) candidate = candidate * path.view({-1, 1, 1});
  return x + update * (candidate - x);  // 15
}

// Whole chunks of a stream neither read nor leave keys and values, so they are computed as without a state.
bool GatedAttentionImpl::can_fuse(const Tensor& x, const Tensor& mask,
                                  const GatedAttentionState* state) const {
  const bool whole_chunks =
      state == nullptr || (options_.chunk > 0 && state->position % options_.chunk == 0 &&
                           x.size(1) % options_.chunk == 0 && !mask.defined() && !state->padding.defined());
  return whole_chunks && !shares_keys(options_) && ops::use_fused(x) && !rel_pos_bias->changes_queries() &&
         !options_.feature_dropout;
}

Tensor GatedAttentionImpl::fused(const Tensor& x, const Tensor& input, const Tensor& sums,
                                 const Tensor& mask) {
  ops::GatedAttentionSettings settings;
  settings.attention.function = options_.attention;
  settings.attention.causal = options_.causal;
  settings.attention.chunk = options_.chunk;
  settings.average = average_;
  settings.activation = options_.activation;
  // Drawn in the order of the composed form, so that both have the same masks.
  settings.averaged = ops::draw_dropout(options_.dropout, is_training());
  settings.values = ops::draw_dropout(options_.hidden_dropout, is_training());
  settings.attention.dropout = ops::draw_dropout(options_.attention_dropout, is_training());
  settings.candidate = ops::draw_dropout(options_.dropout, is_training());
  return ops::gated_attention({x, input, sums, v_proj->weight, v_proj->bias, mx_proj->weight, mx_proj->bias,
                               gamma, beta, h_proj->weight, h_proj->bias, drop_path->draw(x)},
                              relative_bias(x.size(1)), mask, settings);
}

Tensor GatedAttentionImpl::drop(const Tensor& x, double rate) {
  const auto dropout = ops::draw_dropout(rate, is_training());
  return options_.feature_dropout ? ops::feature_dropout(x, dropout) : ops::dropout(x, dropout);
}

// The bias for a sequence of this length; attention spans at most one chunk.
ops::RelativeBias GatedAttentionImpl::relative_bias(int64_t length) {
  const int64_t reach = options_.chunk > 0 ? std::min(options_.chunk, length) : length;
  rel_pos_bias->check_length(reach);
  return rel_pos_bias->bias(1 - reach, options_.causal ? 0 : reach - 1);
}

namespace {

Tensor slice_length(const Tensor& x, int64_t begin, int64_t end) {
  return x.defined() ? x.slice(1, begin, end) : x;
}

Tensor append(const Tensor& earlier, const Tensor& x) {
  return earlier.defined() ? torch::cat({earlier, x}, 1) : x;
}

}  // namespace

Tensor GatedAttentionImpl::attend(Tensor q, Tensor k, const Tensor& v, const Tensor& mask,
                                  GatedAttentionState* state) {
  const SequencePieces* const pieces = sequence_pieces();
  const int64_t length = q.size(1), position = state != nullptr        ? state->position
                                               : shares_keys(options_) ? pieces->read().begin
                                                                       : 0;
  const bool chunked = options_.chunk > 0;
  if (rel_pos_bias->changes_queries()) {
    Tensor positions =
        torch::arange(position, position + length, torch::TensorOptions(torch::kInt64)).to(q.device());
    if (chunked) positions = positions.remainder(options_.chunk);
    rel_pos_bias->check_length(chunked ? std::min(options_.chunk, position + length) : position + length);
    q = rel_pos_bias->queries(q, positions);
    k = rel_pos_bias->keys(k, positions);
  }
  ops::AttentionSettings settings;
  settings.function = options_.attention;
  settings.causal = options_.causal;
  settings.chunk = options_.chunk;
  settings.content = options_.shared;
  settings.dropout = ops::draw_dropout(options_.attention_dropout, is_training());
  if (shares_keys(options_)) {
    const Tensor padding =
        mask.defined() ? mask
                       : torch::zeros({q.size(0), length}, torch::TensorOptions(torch::kBool)).to(q.device());
    settings.first_position = position;
    // One after the other, as in the other processes.
    const Tensor keys = pieces->whole(k), values = pieces->whole(v), padded = pieces->whole(padding);
    return ops::attention(q, keys, values, relative_bias(pieces->length()), padded, settings);
  }
  if (state == nullptr) return ops::attention(q, k, v, relative_bias(length), mask, settings);

  // Streaming: first the positions that complete the open chunk, then further chunks.
  const int64_t open = state->keys.defined() ? state->keys.size(1) : 0;
  const int64_t head = open == 0 ? 0 : chunked ? std::min(length, options_.chunk - open) : length;
  Tensor padding = mask;
  if (mask.defined() || state->padding.defined()) {
    const auto none = [&](int64_t n) { return torch::zeros({q.size(0), n}, torch::kBool).to(q.device()); };
    padding = torch::cat(
        {state->padding.defined() ? state->padding : none(open), mask.defined() ? mask : none(length)}, 1);
  }
  const Tensor keys = append(state->keys, k), values = append(state->values, v);  // (B, open + length, ...)
  std::vector<Tensor> outs;
  if (head > 0) {
    auto first = settings;
    first.chunk = -1;
    first.first_position = open;
    const int64_t reach = open + head;
    rel_pos_bias->check_length(reach);
    outs.push_back(ops::attention(q.slice(1, 0, head), keys.slice(1, 0, reach), values.slice(1, 0, reach),
                                  rel_pos_bias->bias(1 - reach, 0), slice_length(padding, 0, reach), first));
  }
  if (head < length) {
    const int64_t from = open + head, to = open + length;
    auto rest = settings;
    if (head > 0) rest.dropout = ops::draw_dropout(options_.attention_dropout, is_training());
    outs.push_back(ops::attention(q.slice(1, head), keys.slice(1, from), values.slice(1, from),
                                  relative_bias(length - head), slice_length(padding, from, to), rest));
  }
  const int64_t total = open + length, still_open = chunked ? total % options_.chunk : total;
  // Cloned, because a slice would keep the whole segment alive.
  const auto tail = [&](const Tensor& x) {
    return x.defined() && still_open > 0 ? x.slice(1, total - still_open).clone() : Tensor();
  };
  state->keys = tail(keys);
  state->values = tail(values);
  state->padding = tail(padding);
  return outs.size() == 1 ? outs[0] : torch::cat(outs, 1);
}

}  // namespace mega::nn
