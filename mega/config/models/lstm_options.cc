#include "mega/config/models/lstm_options.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "mega/config/cost.h"

namespace mega {
namespace {

double real(int64_t n) { return static_cast<double>(n); }

}  // namespace

// Under libtorch's names: gates (input, forget, cell, output) of each direction of each layer.
std::vector<TensorInfo> LstmOptions::tensors() const {
  const std::string encoder = "encoder.encoder";
  TensorList list;
  add_head_tensors(list, *this, documents, 2 * hidden);
  add_input_embedding_tensors(list, encoder + ".embed_tokens", *this, width);
  for (int64_t i = 0; i < layers; ++i)
    for (const char* direction : {"", "_reverse"}) {
      const std::string suffix = "_l" + std::to_string(i) + direction;
      constexpr ModelPart kPart = ModelPart::recurrence;
      list.add_matrix(encoder + ".lstm.weight_ih" + suffix, 4 * hidden, i == 0 ? width : 2 * hidden, kPart);
      list.add_matrix(encoder + ".lstm.weight_hh" + suffix, 4 * hidden, hidden, kPart);
      list.add(encoder + ".lstm.bias_ih" + suffix, {4 * hidden}, kPart);
      list.add(encoder + ".lstm.bias_hh" + suffix, {4 * hidden}, kPart);
    }
  return list.take();
}

double LstmOptions::multiply_adds(int64_t) const {
  const double h = real(hidden);
  return 8 * h * (real(width) + h) + real(layers - 1) * 8 * h * 3 * h;
}

// Of each direction of a layer: four gates before and after their activation, and its output, which is the
// input of the next. Fitted to a measurement.
double LstmOptions::activation_bytes(int64_t length, int64_t batch) const {
  const double h = real(hidden), layer = 2 * (8 * h + h);
  const double kept = real(documents) * (real(width) + real(layers) * layer);
  return 4.0 * real(length) * real(batch) * (kept + 8 * h);
}

// As many layers as Mega has blocks, with a state that gives them as many parameters: 8 h (D + h) for the
// first and 24 h^2 for each other.
bool LstmOptions::match(const ModelKind& other) {
  const auto* mega = dynamic_cast<const EncoderClassifierOptions*>(&other);
  if (mega == nullptr) return false;
  static_cast<SequenceOptions&>(*this) = *mega;
  if (pooling == Pooling::cls) pooling = Pooling::last;
  documents = mega->document_count();
  width = mega->block.width;
  dropout = mega->block.dropout;
  const double d = real(width), weights = real(layers * block_weights(mega->block));
  const double squares = 8 + 24 * real(layers - 1);
  const double root = std::sqrt(64 * d * d + 4 * squares * weights);
  hidden = std::max<int64_t>(1, std::llround((root - 8 * d) / (2 * squares)));
  return true;
}

}  // namespace mega
