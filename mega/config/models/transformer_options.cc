#include "mega/config/models/transformer_options.h"

#include <algorithm>
#include <string>

#include "mega/base/error.h"
#include "mega/config/cost.h"

namespace mega {
namespace {

double real(int64_t n) { return static_cast<double>(n); }

void check_division(int64_t width, int64_t heads) {
  require(width % heads == 0, "heads: a width of ", width, " does not divide into ", heads, " heads");
}

void check_heads(int64_t width, int64_t heads) {
  check_division(width, heads);
  require(width % 2 == 0 && width >= 4, "width: sinusoidal positions need an even width of at least 4, not ",
          width);
}

// Of NAME.q_proj, NAME.k_proj, ...
void add_attention_tensors(TensorList& list, const std::string& name, int64_t width, ModelPart part) {
  for (const char* projection : {"q_proj", "k_proj", "v_proj", "out_proj"})
    list.add_linear(name + "." + projection, width, width, part);
  list.add_layer_norm(name + "_layer_norm", width);
}

// Under the names of fairseq; a decoder that attends to a source has cross-attention.
template <class Options>
void add_layer_tensors(TensorList& list, const std::string& name, const Options& options, int64_t layers,
                       bool cross_attention = false) {
  const int64_t d = options.width;
  for (int64_t i = 0; i < layers; ++i) {
    const std::string layer = name + ".layers." + std::to_string(i);
    add_attention_tensors(list, layer + ".self_attn", d, ModelPart::attention);
    if (cross_attention) add_attention_tensors(list, layer + ".encoder_attn", d, ModelPart::cross_attention);
    list.add_linear(layer + ".fc1", options.hidden, d, ModelPart::feed_forward);
    list.add_linear(layer + ".fc2", d, options.hidden, ModelPart::feed_forward);
    list.add_layer_norm(layer + ".final_layer_norm", d);
  }
}

// Per token of a layer whose queries see so many keys on average.
double layer_multiply_adds(int64_t width, int64_t hidden, double seen) {
  const double d = real(width), f = real(hidden);
  const double projections = 4 * d * d, scores_and_values = 2 * d * seen, feed_forward = 2 * d * f;
  return projections + scores_and_values + feed_forward;
}

// Of a decoder's layer beyond that: its attention to a source of so many positions.
double cross_multiply_adds(int64_t width, double seen) {
  const double d = real(width);
  return 4 * d * d + 2 * d * seen;
}

// Numbers that a layer keeps for its backward pass, per token.
double kept_by_layer(int64_t width, int64_t hidden, int64_t heads) {
  const double d = real(width), f = real(hidden), h = real(heads);
  // Its input; queries, keys and values; the attention's output, and a normalizer for each head; the input of
  // each norm with its two statistics, and the output of one (postnorm) or of both in place of the layer's
  // input (prenorm, where that is the input of a norm); the hidden layer before its activation.
  return d + 3 * d + d + h + 2 * (d + 2) + d + f;
}

// The same of its attention to a source: keys and values of the source; the query's projection, the
// attention's output with a normalizer for each head, the input of the norm with its statistics, its output.
double kept_by_cross_attention(int64_t width, int64_t heads) {
  const double d = real(width), h = real(heads);
  return 2 * d + d + d + h + (d + 2) + d;
}

// Numbers alive for a moment in the backward pass of the last layer, beyond what it has freed by then, per
// token: in the feed-forward, the activated hidden layer or its gradient, twice; in the attention, gradients
// of queries, keys and values.
double moment_of_layer(int64_t width, int64_t hidden) {
  const double d = real(width), f = real(hidden);
  return std::max(2 * f + d, 2 * d);
}

// Beside the 4 d^2 of a Transformer's attention.
int64_t hidden_like(const BlockOptions& block) {
  return feed_forward_like(block, 4 * block.width * block.width);
}

// Width, feed-forward and dropout of a Transformer beside this block; as many heads as divide the width.
template <class Transformer>
void match_block(Transformer& transformer, const BlockOptions& block, int64_t heads) {
  transformer.width = block.width;
  transformer.hidden = hidden_like(block);
  transformer.dropout = block.dropout;
  transformer.attention_dropout = block.attention_dropout;
  transformer.activation_dropout = block.activation_dropout;
  transformer.heads = heads_like(block, heads);
}

}  // namespace

void TransformerOptions::check() const {
  SequenceOptions::check();
  check_heads(width, heads);
}

std::vector<TensorInfo> TransformerOptions::tensors() const {
  const std::string encoder = "encoder.encoder";
  TensorList list;
  add_head_tensors(list, *this, documents, width);
  add_input_embedding_tensors(list, encoder + ".embed_tokens", *this, width);
  if (normalize_embedding) list.add_layer_norm(encoder + ".emb_layer_norm", width);
  add_layer_tensors(list, encoder, *this, layers);
  return list.take();
}

// Attention is over the whole sequence, so it grows with the length.
double TransformerOptions::multiply_adds(int64_t length) const {
  return real(layers) * layer_multiply_adds(width, hidden, real(length));
}

double TransformerOptions::activation_bytes(int64_t length, int64_t batch) const {
  const double kept = kept_by_layer(width, hidden, heads);
  const double embedding = normalize_embedding ? real(width + 2) : 0.0;
  const double all_layers = real(documents) * (real(layers) * kept + embedding);
  return 4.0 * real(length) * real(batch) * (all_layers + moment_of_layer(width, hidden));
}

bool TransformerOptions::match(const ModelKind& other) {
  const auto* mega = dynamic_cast<const EncoderClassifierOptions*>(&other);
  if (mega == nullptr) return false;
  static_cast<SequenceOptions&>(*this) = *mega;
  match_block(*this, mega->block, 4);
  documents = mega->document_count();
  return true;
}

void TransformerLanguageOptions::check() const {
  check_heads(width, heads);
  check_token_layers(*this, width);
  require(stride <= window, "stride: ", stride, " is more than the window of ", window);
}

std::vector<TensorInfo> TransformerLanguageOptions::tensors() const {
  TensorList list;
  add_token_tensors(list, *this, width);
  add_layer_tensors(list, "decoder", *this, layers);
  if (final_norm) list.add_layer_norm("decoder.layer_norm", width);
  return list.take();
}

// Tokens see half of the sequence on average.
double TransformerLanguageOptions::multiply_adds(int64_t length) const {
  const double seen = (real(length) + 1.0) / 2.0;
  return real(layers) * layer_multiply_adds(width, hidden, seen) + output_multiply_adds(*this, width);
}

double TransformerLanguageOptions::activation_bytes(int64_t length, int64_t batch) const {
  const double tokens = real(length) * real(batch), d = real(width);
  const double kept = real(layers) * kept_by_layer(width, hidden, heads);
  // Of a final norm input and statistics, and its output for the output layer.
  const double last = final_norm ? 2 * d + 2 : d;
  // Either the last layer, or the output layer.
  const double layer = 4.0 * tokens * moment_of_layer(width, hidden);
  return 4.0 * tokens * (kept + last) + std::max(layer, output_bytes(*this, width, length * batch));
}

bool TransformerLanguageOptions::match(const ModelKind& other) {
  const auto* mega = dynamic_cast<const LanguageModelOptions*>(&other);
  if (mega == nullptr) return false;
  static_cast<TokenOptions&>(*this) = *mega;
  match_block(*this, mega->block, 8);
  // In the paper's proportions: 3072 and 512 beside chunks of 2048.
  if (mega->block.chunk > 0) {
    window = std::max<int64_t>(1, 3 * mega->block.chunk / 2);
    stride = std::max<int64_t>(1, mega->block.chunk / 4);
  }
  return true;
}

void TransformerTranslationOptions::check() const {
  check_heads(width, heads);
  check_translation_layers(*this);
}

std::vector<TensorInfo> TransformerTranslationOptions::tensors() const {
  TensorList list;
  add_translation_tensors(list, *this, width);
  add_layer_tensors(list, "encoder", *this, encoder_layers);
  add_layer_tensors(list, "decoder", *this, decoder_layers, /*cross_attention=*/true);
  return list.take();
}

double TransformerTranslationOptions::multiply_adds(int64_t length) const {
  const double past = (real(length) + 1.0) / 2.0;
  const double decoder_layer =
      layer_multiply_adds(width, hidden, past) + cross_multiply_adds(width, real(length));
  return real(encoder_layers) * layer_multiply_adds(width, hidden, real(length)) +
         real(decoder_layers) * decoder_layer + real(vocabulary * width);
}

double TransformerTranslationOptions::activation_bytes(int64_t length, int64_t batch) const {
  const double tokens = real(length) * real(batch);
  const double kept = real(encoder_layers + decoder_layers) * kept_by_layer(width, hidden, heads) +
                      real(decoder_layers) * kept_by_cross_attention(width, heads) + 2 * real(width);
  // Either the last layer, or the output layer.
  const double layer = 4.0 * tokens * moment_of_layer(width, hidden);
  return 4.0 * tokens * kept + std::max(layer, softmax_bytes(real(vocabulary), width, length * batch));
}

// Its feed-forward is a multiple of the width, as Transformers are built: the one that brings encoder and
// decoder together nearest to Mega's. Beside the paper's translator that is the base size.
bool TransformerTranslationOptions::match(const ModelKind& other) {
  const auto* mega = dynamic_cast<const TranslatorOptions*>(&other);
  if (mega == nullptr) return false;
  static_cast<TranslationOptions&>(*this) = *mega;
  match_block(*this, mega->block, 8);
  const int64_t d = width, z = mega->block.shared, layers = encoder_layers + decoder_layers;
  const int64_t cross = 2 * d * z;  // beyond the 4 d^2 that both have
  const int64_t weights = encoder_layers * block_weights(mega->block) +
                          decoder_layers * (block_weights(decoder_block(*mega)) + cross);
  const int64_t multiple = (weights - layers * 4 * d * d + layers * d * d) / (2 * layers * d * d);
  hidden = d * std::max<int64_t>(1, multiple);
  return true;
}

void VisionTransformerOptions::check() const {
  check_division(width, heads);
  require(!distilled || representation == 0,
          "representation: a distilled model has none; set distilled = false, or representation = 0");
}

std::vector<TensorInfo> VisionTransformerOptions::tensors() const {
  const int64_t d = width;
  TensorList list;
  list.add("cls_token", {1, 1, d}, ModelPart::embedding);
  if (distilled) list.add("dist_token", {1, 1, d}, ModelPart::embedding);
  list.add("pos_embed", {1, tokens(), d}, ModelPart::positions);
  add_patch_tensors(list, *this, patch, PatchForm::convolution, d);
  for (int64_t i = 0; i < layers; ++i) {
    const std::string block = "blocks." + std::to_string(i);
    list.add_layer_norm(block + ".norm1", d);
    list.add_matrix(block + ".attn.qkv.weight", 3 * d, d, ModelPart::attention);
    if (qkv_bias) list.add(block + ".attn.qkv.bias", {3 * d}, ModelPart::attention);
    list.add_linear(block + ".attn.proj", d, d, ModelPart::attention);
    list.add_layer_norm(block + ".norm2", d);
    list.add_linear(block + ".mlp.fc1", hidden, d, ModelPart::feed_forward);
    list.add_linear(block + ".mlp.fc2", d, hidden, ModelPart::feed_forward);
  }
  list.add_layer_norm("norm", d);
  if (representation > 0) list.add_linear("pre_logits.fc", representation, d, ModelPart::head);
  list.add_linear("head", classes, representation > 0 ? representation : d, ModelPart::head);
  if (distilled) list.add_linear("head_dist", classes, d, ModelPart::head);
  return without_decay_of_vectors(list.take());
}

double VisionTransformerOptions::multiply_adds(int64_t length) const {
  const double extra = real(extra_tokens()), count = patch_count(length, patch) + extra;
  const double d = real(width), r = real(representation);
  const double embedding = (count - extra) * real(channels * patch * patch) * d;
  const double blocks = real(layers) * count * layer_multiply_adds(width, hidden, count);
  const double head = r > 0 ? d * r + r * real(classes) : extra * d * real(classes);
  return (embedding + blocks + head) / real(length);
}

double VisionTransformerOptions::activation_bytes(int64_t length, int64_t batch) const {
  const double count = patch_count(length, patch) + real(extra_tokens());
  const double kept = real(layers) * kept_by_layer(width, hidden, heads) + real(channels * patch * patch);
  return 4.0 * count * real(batch) * (kept + moment_of_layer(width, hidden));
}

// Heads of 64, as in all published sizes, where the width allows it.
bool VisionTransformerOptions::match(const ModelKind& other) {
  const auto* mega = dynamic_cast<const ImageClassifierOptions*>(&other);
  if (mega == nullptr) return false;
  static_cast<ImageOptions&>(*this) = *mega;
  patch = mega->patch;
  layers = mega->layers;
  representation = mega->representation;
  width = mega->block.width;
  hidden = hidden_like(mega->block);
  constexpr int64_t kHead = 64, kFew = 4;
  heads = width % kHead == 0 && width / kHead >= kFew ? width / kHead : width % kFew == 0 ? kFew : 1;
  dropout = mega->block.dropout;
  drop_path = mega->block.drop_path;
  return true;
}

}  // namespace mega
