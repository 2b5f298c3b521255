#include "mega/config/models/classifier_options.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/config/cost.h"
#include "mega/config/models/block_tensors.h"

namespace mega {

void SequenceOptions::check() const {
  require(channels == 1 || input == InputKind::series,
          "channels: only input = series has several at each position");
}

void SequenceOptions::take_task(const SequenceOptions& other) {
  input = other.input;
  vocabulary = other.vocabulary;
  channels = other.channels;
  objective = other.objective;
  classes = other.classes;
}

int32_t cls_token(const SequenceOptions& options) {
  const bool has_one =
      options.pooling == Pooling::cls && options.input == InputKind::tokens && !options.has_own_cls();
  return has_one ? static_cast<int32_t>(options.vocabulary - 1) : -1;
}

int64_t reserved_tokens(const SequenceOptions& options) { return options.pooling == Pooling::first ? 0 : 1; }

StackOptions EncoderClassifierOptions::stack() const {
  StackOptions stack{block, layers, normalize_embedding, block.affine};
  stack.final_norm = final_norm;
  return stack;
}

void EncoderClassifierOptions::check() const {
  validate(block);
  SequenceOptions::check();
  check_embedding_norm(normalize_embedding, block);
  require(head > 0, "head: a Mega classifier has a hidden layer; set its width, e.g. head = 256");
  require(pooling != Pooling::last,
          "pooling: a Mega encoder gives the mean or its first position; set pooling = mean or cls");
}

// In chunks, positions of a chunk will do.
void EncoderClassifierOptions::make_for(int64_t length) {
  if (block.chunk <= 0) block.max_positions = std::max(block.max_positions, length);
}

// Under the released names: the encoder is held by a module of the same name.
std::vector<TensorInfo> EncoderClassifierOptions::tensors() const {
  const std::string encoder = "encoder.encoder";
  TensorList list;
  add_head_tensors(list, *this, document_count(), block.width);
  add_input_embedding_tensors(list, encoder + ".embed_tokens" + (input == InputKind::tokens ? ".embed" : ""),
                              *this, block.width);
  add_stack_tensors(list, encoder, stack());
  return list.take();
}

double EncoderClassifierOptions::multiply_adds(int64_t length) const {
  return static_cast<double>(layers) * block_multiply_adds(block, length);
}

double EncoderClassifierOptions::activation_bytes(int64_t length, int64_t batch) const {
  const BlockActivations numbers = block_activations(block);
  const double positions = static_cast<double>(length) * static_cast<double>(batch * document_count());
  return 4.0 * positions * (static_cast<double>(layers) * numbers.kept + numbers.moment);
}

void add_input_embedding_tensors(TensorList& list, const std::string& name, const SequenceOptions& options,
                                 int64_t width) {
  constexpr ModelPart kPart = ModelPart::embedding;
  if (options.input == InputKind::tokens)
    return list.add_matrix(name + ".weight", options.vocabulary, width, kPart);
  // One channel has the released shape. Its rows are channels, not outputs: no matrix to quantise.
  list.add(
      name + ".weight",
      options.channels == 1 ? std::vector<int64_t>{width} : std::vector<int64_t>{options.channels, width},
      kPart);
  list.add(name + ".bias", {width}, kPart);
}

void add_head_tensors(TensorList& list, const SequenceOptions& options, int64_t documents, int64_t width) {
  const std::string output = "sentence_projection_layer";
  if (options.head == 0) return list.add_linear(output, options.classes, documents * width, ModelPart::head);
  list.add_linear("classifier.0.0", options.head, documents * width, ModelPart::head);
  list.add_matrix(output + ".weight", options.classes, options.head, ModelPart::head);
  if (options.head_bias) list.add(output + ".bias", {options.classes}, ModelPart::head);
}

}  // namespace mega
