#include "mega/config/models/arena_options.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/config/cost.h"

namespace mega {
namespace {

double real(int64_t n) { return static_cast<double>(n); }

// Scores and the sum of values, of a query that sees so many keys.
double softmax_multiply_adds(int64_t width, double seen) { return 2 * real(width) * seen; }

}  // namespace

void ArenaOptions::check() const {
  SequenceOptions::check();
  require(width % heads == 0, "heads: a width of ", width, " does not divide into ", heads, " heads");
  require(width % 2 == 0 && width >= 4, "width: sinusoidal positions need an even width of at least 4, not ",
          width);
}

std::vector<TensorInfo> ArenaOptions::tensors() const {
  TensorList list;
  add_input_embedding_tensors(list, "embed", *this, width);
  if (has_own_cls()) list.add("cls", {1, 1, width}, ModelPart::embedding);
  for (int64_t i = 0; i < layers; ++i) {
    const std::string block = "blocks." + std::to_string(i);
    list.add_layer_norm(block + ".norm1", width);
    for (const std::string& projection : projections())
      list.add_matrix(block + ".attn." + projection + ".weight", width, width, ModelPart::attention);
    add_attention_tensors(list, block + ".attn");
    list.add_layer_norm(block + ".norm2", width);
    list.add_linear(block + ".fc1", hidden, width, ModelPart::feed_forward);
    list.add_linear(block + ".fc2", width, hidden, ModelPart::feed_forward);
  }
  list.add_layer_norm("norm", width);
  list.add_linear("mlp", head, documents * width, ModelPart::head);
  list.add_linear("logits", classes, head, ModelPart::head);
  return list.take();
}

double ArenaOptions::multiply_adds(int64_t length) const {
  const double d = real(width), f = real(hidden), count = real(positions(length));
  const double projected = real(static_cast<int64_t>(projections().size())) * d * d;
  const double layer = projected + attention_multiply_adds(positions(length)) + 2 * d * f;
  return real(layers) * layer * count / real(length);
}

double ArenaOptions::activation_bytes(int64_t length, int64_t batch) const {
  const double d = real(width), f = real(hidden);
  // The input of each norm with its two statistics, and its output; what goes into and comes out of the
  // attention's projections beside that; the hidden layer before its activation.
  const double outputs = real(static_cast<int64_t>(projections().size())) * d;
  const double kept = 2 * (2 * d + 2) + outputs + f + kept_by_attention(positions(length));
  // Alive for a moment in the backward pass of the last layer, beyond what it has freed by then: in the
  // feed-forward, the activated hidden layer or its gradient, twice; or what the attention needs.
  const double moment = std::max(2 * f + d, moment_of_attention(positions(length)));
  const double final_norm = 2 * d + 2;
  const double all_layers = real(documents) * (real(layers) * kept + final_norm);
  return 4.0 * real(positions(length) * batch) * (all_layers + moment);
}

// Gradients of queries, keys and values.
double ArenaOptions::moment_of_attention(int64_t) const { return 2 * real(width); }

bool ArenaOptions::match(const ModelKind& other) {
  const auto* mega = dynamic_cast<const EncoderClassifierOptions*>(&other);
  if (mega == nullptr) return false;
  static_cast<SequenceOptions&>(*this) = *mega;
  documents = mega->document_count();
  width = mega->block.width;
  heads = heads_like(mega->block, 4);
  dropout = mega->block.dropout;
  if (auto* weighted = dynamic_cast<WeightedArenaOptions*>(this))
    weighted->attention_dropout = mega->block.attention_dropout;
  int64_t attention = static_cast<int64_t>(projections().size()) * width * width;
  TensorList list;
  add_attention_tensors(list, "attn");
  for (const TensorInfo& tensor : list.take())
    if (tensor.is_parameter) attention += tensor.elements();
  hidden = feed_forward_like(mega->block, attention);
  return true;
}

double ArenaTransformerOptions::attention_multiply_adds(int64_t positions) const {
  return softmax_multiply_adds(width, real(positions));
}

double ArenaTransformerOptions::kept_by_attention(int64_t) const { return real(heads); }

void PerformerOptions::add_attention_tensors(TensorList& list, const std::string& name) const {
  if (kernel == PerformerKernel::favor)
    list.add_buffer(name + ".projection", {features, width / heads}, ModelPart::attention);
}

double PerformerOptions::attention_multiply_adds(int64_t) const {
  const double d = real(width), m = real(feature_count());
  const double projected = kernel == PerformerKernel::favor ? 2 * m * d : 0.0;
  return projected + 2 * m * d + 2 * m * real(heads);
}

// The divisor of each head. Features that are not made again in the backward pass: those of FAVOR+, before
// and after the exponential.
double PerformerOptions::kept_by_attention(int64_t) const {
  const double made = kernel == PerformerKernel::favor ? 4 * real(heads * features) + 2 * real(width) : 0.0;
  return real(heads) + made;
}

double PerformerOptions::moment_of_attention(int64_t) const {
  return kernel == PerformerKernel::favor ? 4 * real(heads * features) : 3 * real(width);
}

bool LinformerOptions::match(const ModelKind& other) {
  max_positions = std::max<int64_t>(1, other.max_length());
  return WeightedArenaOptions::match(other);
}

void LinformerOptions::add_attention_tensors(TensorList& list, const std::string& name) const {
  list.add(name + ".lr_kernel", {positions(max_positions), rank}, ModelPart::attention);
}

double LinformerOptions::attention_multiply_adds(int64_t) const {
  return 2 * real(width * rank) + softmax_multiply_adds(width, real(rank));
}

double LinformerOptions::kept_by_attention(int64_t) const { return real(heads); }

// The inner blocks see three neighbours, the first, the last and random ones; two see everything.
double BigBirdOptions::attention_multiply_adds(int64_t positions) const {
  const double all = real(positions), inner = real((5 + random_blocks) * block);
  if (inner >= all) return softmax_multiply_adds(width, all);
  const double outer = 2 * real(block) / all;
  return softmax_multiply_adds(width, outer * all + (1 - outer) * inner);
}

// A normalizer for each head, and the outputs of inner and outer blocks before they are put together.
double BigBirdOptions::kept_by_attention(int64_t) const { return real(heads + width); }

void ReformerOptions::check() const {
  ArenaOptions::check();
  require(buckets % 2 == 0, "buckets: hashing needs an even number, not ", buckets);
}

std::vector<std::string> ReformerOptions::projections() const {
  if (form == ReformerForm::arena) return {"query", "value"};
  return {"query", "value", "out"};
}

double ReformerOptions::attention_multiply_adds(int64_t positions) const {
  if (form == ReformerForm::arena)
    return real(width * buckets / 2) + softmax_multiply_adds(width, 2 * real(positions) / real(buckets));
  const double hashing = real(width) * real(positions) / real(2 * bucket_size);
  return real(rounds) * (hashing + softmax_multiply_adds(width, 2 * real(bucket_size)));
}

// Of the arena: a normalizer for each head. Of the article: sorted queries, keys of two chunks with their
// lengths, values of two chunks, and the weights, in each round.
double ReformerOptions::kept_by_attention(int64_t) const {
  if (form == ReformerForm::arena) return real(heads + width);
  const double d = real(width), weights = real(heads * 2 * bucket_size);
  return real(rounds) * (3 * d + 6 * d + 3 * weights);
}

}  // namespace mega
