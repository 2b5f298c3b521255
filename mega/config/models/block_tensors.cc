#include "mega/config/models/block_tensors.h"

#include <algorithm>

namespace mega {
namespace {

constexpr int64_t kT5Buckets = 32;

void add_ema(TensorList& list, const std::string& name, int64_t width, const EmaOptions& ema) {
  const bool turns = ema.kind == EmaKind::complex;
  const bool expanded = ema.kind == EmaKind::multidimensional;
  const int64_t n = expanded || turns ? ema.dimension : std::min<int64_t>(ema.dimension, 1);
  const int64_t rows = ema.bidirectional ? 2 * width : width;
  if (n == 0) return;
  list.add(name + ".delta", {rows, n, 1}, ModelPart::ema);
  if (ema.kind != EmaKind::plain) list.add(name + ".alpha", {rows, n, 1}, ModelPart::ema);
  if (expanded) {
    list.add(name + ".beta", {rows, n, 1}, ModelPart::ema);
    list.add(name + ".gamma", {rows, n}, ModelPart::ema);
  }
  if (turns) {
    list.add(name + ".theta", {rows, 1, 1}, ModelPart::ema);
    list.add(name + ".gamma", {rows, n, 2}, ModelPart::ema);
  }
  if (ema.skip) list.add(name + ".omega", {width}, ModelPart::ema);
}

void add_position(TensorList& list, const std::string& name, PositionKind kind, int64_t shared,
                  int64_t positions) {
  constexpr ModelPart kPart = ModelPart::positions;
  switch (kind) {
    case PositionKind::none:
    case PositionKind::rope:
      return;
    case PositionKind::simple:
      return list.add(name + ".rel_pos_bias", {2 * positions - 1}, kPart);
    case PositionKind::rotary:
      list.add(name + ".alpha", {1, shared}, kPart);
      return list.add(name + ".beta", {1, shared}, kPart);
    case PositionKind::t5:
      return list.add(name + ".relative_attention_bias", {kT5Buckets}, kPart);
    case PositionKind::alibi:
      return list.add_buffer(name + ".slope", {1}, kPart);
    case PositionKind::tupe:
      list.add(name + ".positions", {positions, shared}, kPart);
      list.add(name + ".query", {shared, shared}, kPart);
      return list.add(name + ".key", {shared, shared}, kPart);
  }
}

void add_gated_attention(TensorList& list, const std::string& name, const BlockOptions& block) {
  constexpr ModelPart kPart = ModelPart::attention;
  const int64_t d = block.width, z = block.shared, v = block.values;
  list.add(name + ".gamma", {2, z}, kPart);
  list.add(name + ".beta", {2, z}, kPart);
  if (block.norm != NormKind::timestep) {
    add_norm_tensors(list, name + ".norm", d, block.norm, block.affine);
  } else if (block.affine) {
    list.add_layer_norm(name + ".norm", d);
  }
  if (block.ema.dimension > 0) add_ema(list, name + ".move", d, block.ema);
  list.add_linear(name + ".v_proj", v, d, kPart);
  list.add_linear(name + ".mx_proj", z + v + 2 * d, d, kPart);
  list.add_linear(name + ".h_proj", d, v, kPart);
  add_position(list, name + ".rel_pos_bias", block.position, z,
               block.chunk > 0 ? block.chunk : block.max_positions);
}

void add_cross_attention(TensorList& list, const std::string& name, const BlockOptions& block) {
  constexpr ModelPart kPart = ModelPart::cross_attention;
  const int64_t d = block.width, z = block.shared;
  add_norm_tensors(list, name + ".norm", d, plain_norm(block.norm), block.affine);
  list.add_linear(name + ".k_proj", z, d, kPart);
  list.add_linear(name + ".v_proj", d, d, kPart);
  list.add_linear(name + ".q_proj", 2 * d + z, d, kPart);
  list.add_linear(name + ".h_proj", d, d, kPart);
  add_position(list, name + ".rel_pos_bias", block.position, z, block.max_positions);
}

}  // namespace

void add_norm_tensors(TensorList& list, const std::string& name, int64_t width, NormKind norm, bool affine) {
  constexpr ModelPart kPart = ModelPart::norms;
  const std::string inner = name + ".norm";
  if (affine && norm == NormKind::scale) {
    list.add(inner + ".scalar", {1}, kPart);
  } else if (affine) {
    list.add(inner + ".weight", {width}, kPart);
    if (norm != NormKind::rms) list.add(inner + ".bias", {width}, kPart);
  }
  if (norm == NormKind::batch || norm == NormKind::sync_batch) {
    list.add_buffer(inner + ".running_mean", {width}, kPart);
    list.add_buffer(inner + ".running_var", {width}, kPart);
    list.add_buffer(inner + ".num_batches_tracked", {}, kPart, DType::I64);
  }
}

void add_stack_tensors(TensorList& list, const std::string& name, const StackOptions& options) {
  const BlockOptions& block = options.block;
  const std::string holder = name.empty() ? "" : name + ".";
  if (options.normalize_embedding)
    add_norm_tensors(list, holder + "embed_norm", block.width, plain_norm(block.norm), block.affine);
  for (int64_t i = 0; i < options.layers; ++i) {
    const std::string layer = holder + options.blocks + "." + std::to_string(i);
    add_gated_attention(list, layer + ".mega_layer", block);
    if (options.cross_attention) add_cross_attention(list, layer + ".cross_attn", block);
    if (block.hidden == 0) continue;
    add_norm_tensors(list, layer + ".nffn.norm", block.width, plain_norm(block.norm), block.affine);
    list.add_linear(layer + ".nffn.fc1", block.hidden, block.width, ModelPart::feed_forward);
    list.add_linear(layer + ".nffn.fc2", block.width, block.hidden, ModelPart::feed_forward);
  }
  if (block.prenorm && options.final_norm)
    add_norm_tensors(list, holder + "final_norm", block.width, plain_norm(block.norm),
                     options.affine_final_norm);
}

}  // namespace mega
