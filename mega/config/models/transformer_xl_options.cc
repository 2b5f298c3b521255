#include "mega/config/models/transformer_xl_options.h"

#include <algorithm>
#include <string>

#include "mega/base/error.h"
#include "mega/config/cost.h"
#include "mega/config/models/bands.h"

namespace mega {
namespace {

double real(int64_t n) { return static_cast<double>(n); }

}  // namespace

void TransformerXlOptions::check() const {
  require(width % 2 == 0, "width: sinusoidal positions need an even width, not ", width);
  check_token_layers(*this, width);
}

// Under the names of the published program.
std::vector<TensorInfo> TransformerXlOptions::tensors() const {
  TensorList list;
  const auto bands = make_bands(cutoffs, vocabulary, width, band_factor);
  for (size_t i = 0; i < bands.size(); ++i) {
    const std::string band = std::to_string(i);
    list.add_matrix("word_emb.emb_layers." + band + ".weight", bands[i].size(), bands[i].width,
                    ModelPart::embedding);
    list.add("crit.out_layers." + band + ".bias", {bands[i].size()}, ModelPart::head);
    if (cutoffs.empty()) continue;
    list.add_matrix("word_emb.emb_projs." + band, width, bands[i].width, ModelPart::embedding);
    if (i == 0) list.add_matrix("crit.out_projs." + band, width, bands[i].width, ModelPart::head);
  }
  if (!cutoffs.empty()) {
    list.add_matrix("crit.cluster_weight", std::ssize(cutoffs), width, ModelPart::head);
    list.add("crit.cluster_bias", {std::ssize(cutoffs)}, ModelPart::head);
  }
  list.add("r_w_bias", {heads, head_width}, ModelPart::attention);
  list.add("r_r_bias", {heads, head_width}, ModelPart::attention);
  const int64_t inner = heads * head_width;
  for (int64_t i = 0; i < layers; ++i) {
    const std::string layer = "layers." + std::to_string(i), attention = layer + ".dec_attn",
                      feed_forward = layer + ".pos_ff";
    list.add_matrix(attention + ".qkv_net.weight", 3 * inner, width, ModelPart::attention);
    list.add_matrix(attention + ".r_net.weight", inner, width, ModelPart::attention);
    list.add_matrix(attention + ".o_net.weight", width, inner, ModelPart::attention);
    list.add_layer_norm(attention + ".layer_norm", width);
    list.add_linear(feed_forward + ".CoreNet.0", hidden, width, ModelPart::feed_forward);
    list.add_linear(feed_forward + ".CoreNet.3", width, hidden, ModelPart::feed_forward);
    list.add_layer_norm(feed_forward + ".layer_norm", width);
  }
  return list.take();
}

// Of a segment of this length behind a full memory, in training: keys and values of the memory and
// projections of distances are computed again for each segment, and every query has two scores for each key.
double TransformerXlOptions::multiply_adds(int64_t length) const {
  const double d = real(width), e = real(heads * head_width), l = real(length);
  const double keys = real(training.positions) + l;
  const double projections = 2 * d * e + 3 * d * e * keys / l, scores_and_values = 3 * e * keys;
  return real(layers) * (projections + scores_and_values + 2 * d * real(hidden)) +
         output_multiply_adds(*this, width);
}

// Per token a layer keeps its input, queries with both biases, the attention's output, the inputs of both
// norms with their statistics, the output of one, and the hidden layer before its activation; per key its
// place in the sequence with the memory, keys, values and the projected distance; per pair of the two the
// weights of each head, and for a moment scores and their gradients.
double TransformerXlOptions::activation_bytes(int64_t length, int64_t batch) const {
  const double d = real(width), e = real(heads * head_width), f = real(hidden), l = real(length);
  const double keys = real(training.positions) + l, pairs = real(heads) * l * keys;
  const double of_token = d + 3 * e + e + 2 * (d + 2) + d + f, of_key = d + 4 * e;
  const double kept = real(layers) * (l * of_token + keys * of_key + pairs);
  const double moment = std::max(4 * pairs, l * (2 * f + d));
  const double tokens = l * real(batch);
  return 4.0 * real(batch) * (kept + l * 2 * d + moment) + output_bytes(*this, width, length * batch) +
         4.0 * tokens * d;
}

// Mega's width in heads of 64 or 8 heads; the feed-forward takes what the attention, 5 d^2 with its
// projection of distances, leaves of a Mega block's parameters. Segment and memory are a chunk.
bool TransformerXlOptions::match(const ModelKind& other) {
  const auto* mega = dynamic_cast<const LanguageModelOptions*>(&other);
  if (mega == nullptr) return false;
  vocabulary = mega->vocabulary;
  layers = mega->layers;
  cutoffs = mega->cutoffs;
  band_factor = mega->band_factor;
  const int64_t d = mega->block.width;
  constexpr int64_t kHeads = 8;
  width = d;
  heads = d % kHeads == 0 ? kHeads : 1;
  head_width = d / heads;
  hidden = std::max<int64_t>(1, (block_weights(mega->block) - 5 * d * d + d) / (2 * d));
  dropout = mega->block.dropout;
  if (mega->block.chunk > 0) segment = training.positions = scoring.positions = mega->block.chunk;
  return true;
}

}  // namespace mega
