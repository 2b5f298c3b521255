#include "mega/baselines/transformer_xl.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "mega/base/error.h"
#include "mega/baselines/sinusoidal.h"
#include "mega/baselines/transformer_layer.h"
#include "mega/nn/stack.h"
#include "mega/ops/check.h"
#include "mega/ops/dropout.h"
#include "mega/ops/heads.h"
#include "mega/ops/linear.h"
#include "mega/ops/softmax_loss.h"
#include "mega/ops/watch.h"

namespace mega::baselines {
namespace {

using torch::Tensor;

constexpr SinusoidForm kDistanceSinusoids{0, false, false};

std::shared_ptr<torch::nn::Module> add_holder(torch::nn::Module& parent, const std::string& name) {
  return parent.register_module(name, std::make_shared<torch::nn::Module>());
}

torch::nn::Linear without_bias(int64_t inputs, int64_t outputs) {
  return torch::nn::Linear(torch::nn::LinearOptions(inputs, outputs).bias(false));
}

// Column s of row i of x (N, Q, K) moves to column s - (Q - 1 - i): from distances K - 1 to 0 to keys.
Tensor shift_to_keys(const Tensor& x) {
  const int64_t queries = x.size(1), keys = x.size(2);
  return torch::constant_pad_nd(x, {1, 0})
      .view({x.size(0), keys + 1, queries})
      .slice(1, 1)
      .reshape({x.size(0), queries, keys});
}

Tensor append(const Tensor& memory, const Tensor& x) {
  return memory.defined() ? torch::cat({memory, x}, 1) : x;
}

// Where tokens (M) are of this band.
Tensor rows_of(const Tensor& tokens, const Band& band) {
  return ((tokens >= band.begin) & (tokens < band.end)).nonzero().squeeze(1);
}

// A text that goes on behind padding would have it in its memory.
void check_padding(const Tensor& mask, const Tensor& tokens) {
  ops::check_mask("Transformer-XL", mask, tokens.size(0), tokens.size(1));
  if (!mask.defined() || mask.size(1) < 2) return;
  const Tensor ends = mask.slice(1, 0, -1) & mask.slice(1, 1).logical_not();
  require(!ends.any().item<bool>(), "Transformer-XL: padding must be at the end of texts");
}

}  // namespace

TransformerXlLayerImpl::TransformerXlLayerImpl(const TransformerXlOptions& options)
    : options_(options),
      qkv_(without_bias(options.width, 3 * options.heads * options.head_width)),
      distance_(without_bias(options.width, options.heads * options.head_width)),
      out_(without_bias(options.heads * options.head_width, options.width)),
      fc1_(options.width, options.hidden),
      fc2_(options.hidden, options.width),
      attention_norm_(layer_norm(options.width)),
      final_norm_(layer_norm(options.width)) {
  const auto attention = add_holder(*this, "dec_attn"), feed_forward = add_holder(*this, "pos_ff");
  attention->register_module("qkv_net", qkv_);
  attention->register_module("r_net", distance_);
  attention->register_module("o_net", out_);
  attention->register_module("layer_norm", attention_norm_);
  const auto core = add_holder(*feed_forward, "CoreNet");
  core->register_module("0", fc1_);
  core->register_module("3", fc2_);
  feed_forward->register_module("layer_norm", final_norm_);
}

Tensor TransformerXlLayerImpl::project(const Tensor& x, int64_t first, int64_t count) {
  const int64_t inner = options_.heads * options_.head_width;
  return ops::linear(x, qkv_->weight.narrow(0, first * inner, count * inner), {});
}

Tensor TransformerXlLayerImpl::attention_input(const Tensor& x) {
  return options_.prenorm ? attention_norm_->forward(x) : x;
}

KeysValues TransformerXlLayerImpl::keys_values(const Tensor& x) {
  const auto parts = project(attention_input(x), 1, 2).chunk(2, -1);
  return {parts[0], parts[1]};
}

Tensor TransformerXlLayerImpl::project_distances(const Tensor& sinusoids) {
  return ops::linear(sinusoids, distance_->weight, {});
}

// Equation of the article's section 3.3: [(q_i + u) . k_j + (q_i + v) . W_r r_{M+i-j}] / sqrt(E).
Tensor TransformerXlLayerImpl::attend(const Tensor& x, const KeysValues& all, const Tensor& distances,
                                      const QueryBiases& biases) {
  const int64_t heads = options_.heads;
  const int64_t queries = x.size(1), keys = all.keys.size(1), before = keys - queries;
  const auto by_head = [&](const Tensor& y) { return ops::split_heads(y, heads).flatten(0, 1); };
  // Scaled already: a pass over the queries in place of one over all scores.
  const double scale = 1.0 / std::sqrt(static_cast<double>(options_.head_width));
  const Tensor q = project(x, 0, 1), k = by_head(all.keys), v = by_head(all.values);
  const Tensor r = ops::split_heads(distances.unsqueeze(0), heads);
  const Tensor content = (q + biases.content.flatten()) * scale,
               distance = (q + biases.distance.flatten()) * scale;
  const Tensor by_distance =
      torch::matmul(ops::split_heads(distance, heads), r.transpose(2, 3)).flatten(0, 1);
  const Tensor scores = torch::matmul(by_head(content), k.transpose(1, 2)).add_(shift_to_keys(by_distance));

  const auto indices = x.options().dtype(torch::kInt64).requires_grad(false);
  const Tensor i = torch::arange(queries, indices).unsqueeze(1),
               j = torch::arange(keys, indices).unsqueeze(0);
  Tensor hidden = j > i + before;
  if (memory().same_length) {
    const int64_t kept = memory().positions, seen = keys > kept ? queries - (keys - kept) : queries;
    hidden = hidden | (j <= i - seen);
  }
  scores.masked_fill_(hidden, -std::numeric_limits<double>::infinity());
  const Tensor y = torch::matmul(torch::softmax(scores, -1), v);
  const Tensor joined = ops::join_heads(y.view({x.size(0), heads, queries, -1}));
  return ops::linear(joined, out_->weight, {});
}

Tensor TransformerXlLayerImpl::forward(const Tensor& x, const KeysValues& all, const Tensor& distances,
                                       const QueryBiases& biases) {
  ops::check_sequence("Transformer-XL layer", x, options_.width, fc1_->weight);
  const auto dropout = [&](const Tensor& y) {
    return ops::dropout(y, ops::draw_dropout(options_.dropout, is_training()));
  };
  const auto after = [&](torch::nn::LayerNorm& norm, const Tensor& sum) {
    return options_.prenorm ? sum : norm->forward(sum);
  };
  const Tensor y = after(attention_norm_, x + dropout(attend(attention_input(x), all, distances, biases)));
  const Tensor inner = ops::linear(options_.prenorm ? final_norm_->forward(y) : y, fc1_->weight, fc1_->bias);
  const auto inside = ops::draw_dropout(options_.dropout, is_training());
  const Tensor fed = ops::activated_linear(inner, Activation::relu, inside, fc2_->weight, fc2_->bias);
  return after(final_norm_, y + dropout(fed));
}

TransformerXlImpl::TransformerXlImpl(const TransformerXlOptions& options)
    : options_(options),
      bands_(make_bands(options.cutoffs, options.vocabulary, options.width, options.band_factor)) {
  options.check();
  const auto words = add_holder(*this, "word_emb"), output = add_holder(*this, "crit");
  const auto emb_layers = add_holder(*words, "emb_layers"), emb_projs = add_holder(*words, "emb_projs"),
             out_layers = add_holder(*output, "out_layers"), out_projs = add_holder(*output, "out_projs");
  for (size_t i = 0; i < bands_.size(); ++i) {
    const std::string name = std::to_string(i);
    const auto [size, width] = std::pair(bands_[i].size(), bands_[i].width);
    embeddings_.push_back(
        add_holder(*emb_layers, name)->register_parameter("weight", torch::empty({size, width})));
    out_biases_.push_back(add_holder(*out_layers, name)->register_parameter("bias", torch::empty({size})));
    if (options.cutoffs.empty()) continue;
    projections_.push_back(emb_projs->register_parameter(name, torch::empty({options.width, width})));
    // That of frequent tokens is not tied.
    out_projections_.push_back(i == 0
                                   ? out_projs->register_parameter(name, torch::empty({options.width, width}))
                                   : projections_.back());
  }
  if (!options.cutoffs.empty()) {
    const int64_t rarer = std::ssize(options.cutoffs);
    band_weight_ = output->register_parameter("cluster_weight", torch::empty({rarer, options.width}));
    band_bias_ = output->register_parameter("cluster_bias", torch::empty({rarer}));
  }
  biases_.content = register_parameter("r_w_bias", torch::empty({options.heads, options.head_width}));
  biases_.distance = register_parameter("r_r_bias", torch::empty({options.heads, options.head_width}));
  torch::nn::ModuleList list;
  for (int64_t i = 0; i < options.layers; ++i) {
    layers_.emplace_back(options);
    list->push_back(layers_.back());
  }
  register_module("layers", list);
  reset_parameters();
}

void TransformerXlImpl::reset_parameters() {
  const torch::NoGradGuard guard;
  constexpr double kDeviation = 0.02, kProjectionDeviation = 0.01;
  for (const auto& item : named_parameters()) {
    const std::string& name = item.key();
    if (name.find("_projs.") != std::string::npos)
      item.value().normal_(0.0, kProjectionDeviation);
    else if (name.ends_with(".bias") || name.ends_with("cluster_bias"))
      item.value().zero_();
    else
      item.value().normal_(name.ends_with("layer_norm.weight") ? 1.0 : 0.0, kDeviation);
  }
}

Tensor TransformerXlImpl::embed(const Tensor& tokens) {
  const int64_t least = tokens.min().item<int64_t>(), most = tokens.max().item<int64_t>();
  require(least >= 0 && most < options_.vocabulary, "token ", least < 0 ? least : most, " is outside 0 to ",
          options_.vocabulary - 1, ", the model's vocabulary");
  const double scale = std::sqrt(static_cast<double>(options_.width));
  if (options_.cutoffs.empty()) return torch::embedding(embeddings_[0], tokens) * scale;
  const Tensor flat = tokens.flatten();
  Tensor x = torch::zeros({flat.size(0), options_.width}, embeddings_[0].options());
  for (size_t i = 0; i < bands_.size(); ++i) {
    const Tensor rows = rows_of(flat, bands_[i]);
    const Tensor own = torch::embedding(embeddings_[i], flat.index_select(0, rows) - bands_[i].begin);
    x = x.index_add(0, rows, torch::matmul(own, projections_[i].t()));
  }
  return x.view({tokens.size(0), tokens.size(1), options_.width}) * scale;
}

Tensor TransformerXlImpl::features(const Tensor& tokens, const Tensor& mask, nn::State* state) {
  require(tokens.dim() == 2 && tokens.scalar_type() == torch::kInt64 && tokens.numel() > 0,
          "expected tokens (batch, length) of type int64, got ", tokens.sizes(), " ", tokens.scalar_type());
  check_padding(mask, tokens);
  std::vector<Tensor> distances;
  if (state == nullptr) return nn::zero_padding(read(tokens, nullptr, distances), mask);
  nn::State next = *state;
  require(next.blocks.empty() || next.blocks.size() == layers_.size(), "the state has ", next.blocks.size(),
          " blocks, the model ", layers_.size());
  next.blocks.resize(layers_.size());
  check_memory(next, tokens.size(0));
  std::vector<Tensor> segments;
  const int64_t length = is_training() ? std::max<int64_t>(1, tokens.size(1)) : options_.segment;
  for (const Tensor& segment : tokens.split(length, 1)) segments.push_back(read(segment, &next, distances));
  *state = std::move(next);
  return nn::zero_padding(segments.size() == 1 ? segments[0] : torch::cat(segments, 1), mask);
}

// All layers remember as many inputs of as many texts. Keys and values are of these inputs, or left out.
void TransformerXlImpl::check_memory(const nn::State& state, int64_t batch) const {
  const auto sizes_of = [](const Tensor& x) {
    return x.defined() ? x.sizes().vec() : std::vector<int64_t>();
  };
  const std::vector<int64_t> first = sizes_of(state.blocks[0].attention.ema), none;
  const int64_t positions = first.size() > 1 ? first[1] : 0;
  const std::vector<int64_t> remembered = {batch, positions, options_.width},
                             projected = {batch, positions, options_.heads * options_.head_width};
  for (const nn::BlockState& block : state.blocks) {
    const std::vector<int64_t> inputs = sizes_of(block.attention.ema), keys = sizes_of(block.attention.keys);
    require(inputs == (first.empty() ? none : remembered) && keys == sizes_of(block.attention.values) &&
                (keys.empty() || (keys == projected && !first.empty())),
            "the state's memory does not fit ", batch, " texts of this model: inputs ", inputs, ", keys ",
            keys);
  }
}

KeysValues TransformerXlImpl::remember(size_t layer, const Tensor& x, nn::GatedAttentionState& state) {
  const bool keep = !torch::GradMode::is_enabled();
  KeysValues all = layers_[layer]->keys_values(x);
  if (state.ema.defined()) {
    KeysValues memory{state.keys, state.values};
    if (!keep || !memory.keys.defined()) memory = layers_[layer]->keys_values(state.ema);
    all = {append(memory.keys, all.keys), append(memory.values, all.values)};
  }
  const int64_t most = (is_training() ? options_.training : options_.scoring).positions;
  const auto last = [&](const Tensor& y) { return y.slice(1, std::max<int64_t>(0, y.size(1) - most)); };
  state.ema = last(append(state.ema, x.detach()));
  state.keys = keep ? last(all.keys) : Tensor();
  state.values = keep ? last(all.values) : Tensor();
  state.position += x.size(1);
  return all;
}

Tensor TransformerXlImpl::read(const Tensor& tokens, nn::State* state, std::vector<Tensor>& distances) {
  const SegmentMemory& reach = is_training() ? options_.training : options_.scoring;
  Tensor x = embed(tokens);
  const Tensor first = state == nullptr ? Tensor() : state->blocks[0].attention.ema;
  const int64_t keys = x.size(1) + (first.defined() ? first.size(1) : 0);
  const auto dropout = [&](const Tensor& y) {
    return ops::dropout(y, ops::draw_dropout(options_.dropout, is_training()));
  };
  if (is_training() || distances.empty() || distances[0].size(0) != keys) {
    Tensor distance = torch::arange(keys - 1, -1, -1, torch::kFloat64);
    if (reach.clamp > 0) distance = distance.clamp_max(static_cast<double>(reach.clamp));
    const Tensor waves =
        dropout(sinusoids(distance, options_.width, kDistanceSinusoids).to(x.options().requires_grad(false)));
    distances.clear();
    for (TransformerXlLayer& layer : layers_) distances.push_back(layer->project_distances(waves));
  }
  x = dropout(x);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const KeysValues all =
        state == nullptr ? layers_[i]->keys_values(x) : remember(i, x, state->blocks[i].attention);
    x = layers_[i]->forward(x, all, distances[i], biases_);
    ops::watch("layers." + std::to_string(i), x);
  }
  return dropout(x);
}

// Of the frequent tokens followed by the choice among bands, or of one of these bands.
TransformerXlImpl::BandInput TransformerXlImpl::band_input(const Tensor& features, size_t band) {
  if (options_.cutoffs.empty()) return {features, embeddings_[0], out_biases_[0]};
  const Tensor projected = torch::matmul(features, out_projections_[band]);
  if (band > 0) return {projected, embeddings_[band], out_biases_[band]};
  return {projected, torch::cat({embeddings_[0], band_weight_}), torch::cat({out_biases_[0], band_bias_})};
}

Tensor TransformerXlImpl::band_log_probabilities(const Tensor& features, size_t band) {
  const auto [x, weight, bias] = band_input(features, band);
  return torch::log_softmax(ops::linear(x, weight, bias), 1);
}

// Band i is the i-th column from the end, as published.
int64_t TransformerXlImpl::band_column(size_t band) const {
  return bands_[0].end + std::ssize(options_.cutoffs) - static_cast<int64_t>(band);
}

Tensor TransformerXlImpl::losses(const Tensor& features, const Tensor& targets) {
  const auto losses_of = [&](const Tensor& rows, size_t band, const Tensor& own) {
    const auto [x, weight, bias] = band_input(rows, band);
    // The bias is the weights of one more input, which is 1.
    return ops::softmax_losses(torch::cat({x, torch::ones_like(x.slice(1, 0, 1))}, 1),
                               torch::cat({weight, bias.unsqueeze(1)}, 1), own);
  };
  if (bands_.size() == 1) return losses_of(features, 0, targets);
  Tensor frequent = targets.clone(), rare = torch::zeros({targets.size(0)}, features.options());
  for (size_t i = 1; i < bands_.size(); ++i) {
    const Tensor rows = rows_of(targets, bands_[i]);
    if (rows.numel() == 0) continue;
    frequent.index_fill_(0, rows, band_column(i));
    rare = rare.index_add(
        0, rows,
        losses_of(features.index_select(0, rows), i, targets.index_select(0, rows) - bands_[i].begin));
  }
  return losses_of(features, 0, frequent) + rare;
}

Tensor TransformerXlImpl::log_probabilities(const Tensor& features) {
  const Tensor head = band_log_probabilities(features, 0);
  if (bands_.size() == 1) return head;
  std::vector<Tensor> parts = {head.narrow(1, 0, bands_[0].end)};
  for (size_t i = 1; i < bands_.size(); ++i)
    parts.push_back(head.narrow(1, band_column(i), 1) + band_log_probabilities(features, i));
  return torch::cat(parts, 1);
}

}  // namespace mega::baselines
