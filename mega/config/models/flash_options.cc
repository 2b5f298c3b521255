#include "mega/config/models/flash_options.h"

#include <algorithm>
#include <string>

#include "mega/base/error.h"
#include "mega/config/cost.h"

namespace mega {
namespace {

double real(int64_t n) { return static_cast<double>(n); }

// Queries and keys of the quadratic part, and of the linear one.
int64_t copies_of_shared(FlashForm form) { return form == FlashForm::mixed ? 4 : 2; }

// Unlike Mega's, a norm of Flash has no module around it.
void add_norm(TensorList& list, const std::string& name, const FlashOptions& options) {
  constexpr ModelPart kPart = ModelPart::norms;
  if (options.norm == NormKind::scale) return list.add(name + ".scalar", {1}, kPart);
  list.add(name + ".weight", {options.width}, kPart);
  list.add(name + ".bias", {options.width}, kPart);
  if (options.norm != NormKind::batch) return;
  list.add_buffer(name + ".running_mean", {options.width}, kPart);
  list.add_buffer(name + ".running_var", {options.width}, kPart);
  list.add_buffer(name + ".num_batches_tracked", {}, kPart, DType::I64);
}

}  // namespace

void FlashOptions::check() const {
  SequenceOptions::check();
  require(norm == NormKind::scale || norm == NormKind::layer || norm == NormKind::batch,
          "norm: Flash has scale, layer or batch, not ", to_string(norm));
}

std::vector<TensorInfo> FlashOptions::tensors() const {
  const std::string encoder = "encoder.encoder";
  constexpr ModelPart kPart = ModelPart::attention;
  constexpr int64_t kT5Buckets = 32;
  TensorList list;
  add_head_tensors(list, *this, documents, width);
  add_input_embedding_tensors(list, encoder + ".embed_tokens", *this, width);
  for (int64_t i = 0; i < layers; ++i) {
    const std::string layer = encoder + ".layers." + std::to_string(i), unit = layer + ".gau";
    add_norm(list, layer + ".pre_norm", *this);
    list.add(unit + ".gamma", {copies_of_shared(form), shared}, kPart);
    list.add(unit + ".beta", {copies_of_shared(form), shared}, kPart);
    list.add_linear(unit + ".proj", 2 * values + shared, width, kPart);
    list.add_linear(unit + ".out_proj", width, values, kPart);
    if (form == FlashForm::quadratic)
      list.add(unit + ".rel_pos_bias.rel_pos_bias", {2 * max_positions - 1}, ModelPart::positions);
    else
      list.add(unit + ".rel_pos_bias.relative_attention_bias", {kT5Buckets}, ModelPart::positions);
  }
  add_norm(list, encoder + ".final_norm", *this);
  return list.take();
}

double FlashOptions::multiply_adds(int64_t length) const {
  const double d = real(width), v = real(values), z = real(shared);
  const double products = d * (2 * v + z) + v * d;
  const double quadratic = (z + v) * real(form == FlashForm::mixed ? std::min(chunk, length) : length);
  const double linear = form == FlashForm::mixed ? 2 * z * v : 0.0;
  return real(layers) * (products + quadratic + linear);
}

double FlashOptions::activation_bytes(int64_t length, int64_t batch) const {
  const double d = real(width), v = real(values), z = real(shared);
  // The input of the norm, and its output; the projection before and after its activation; queries and keys
  // with their products; values, the attention's output, and that times the gate.
  const double copies = real(copies_of_shared(form));
  double kept = 2 * d + 2 + 2 * (2 * v + z) + 2 * copies * z + 3 * v;
  if (form == FlashForm::mixed) kept += 2 * v;
  const double moment = 2 * (2 * v + z) + 2 * v;
  return 4.0 * real(length * batch) * (real(documents) * (real(layers) * kept + 2 * d + 2) + moment);
}

bool FlashOptions::match(const ModelKind& other) {
  const auto* mega = dynamic_cast<const EncoderClassifierOptions*>(&other);
  if (mega == nullptr) return false;
  static_cast<SequenceOptions&>(*this) = *mega;
  documents = mega->document_count();
  const BlockOptions& block = mega->block;
  width = block.width;
  shared = block.shared;
  // 3 D V + D Z, and the table of the bias.
  max_positions = std::max<int64_t>(1, mega->max_length());
  const int64_t others = width * shared + 2 * max_positions - 1;
  values = std::max<int64_t>(1, (block_weights(block) - others) / (3 * width));
  if (block.norm == NormKind::layer || block.norm == NormKind::batch) norm = block.norm;
  dropout = block.dropout;
  attention_dropout = block.attention_dropout;
  return true;
}

}  // namespace mega
