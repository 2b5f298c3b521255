#include "mega/config/models/luna_options.h"

#include <algorithm>
#include <string>

#include "mega/base/error.h"
#include "mega/config/cost.h"

namespace mega {
namespace {

double real(int64_t n) { return static_cast<double>(n); }

}  // namespace

void LunaOptions::check() const {
  SequenceOptions::check();
  for (const int64_t count : {heads, pack_heads})
    require(width % count == 0, "heads: a width of ", width, " does not divide into ", count, " heads");
  require(width % 2 == 0 && width >= 4, "width: sinusoidal positions need an even width of at least 4, not ",
          width);
}

std::vector<TensorInfo> LunaOptions::tensors() const {
  const std::string encoder = "encoder.encoder";
  TensorList list;
  add_head_tensors(list, *this, documents, width);
  add_input_embedding_tensors(list, encoder + ".embed_tokens", *this, width);
  list.add(encoder + ".projected_embeddings", {packed, width}, ModelPart::embedding);
  if (normalize_embedding) {
    list.add_layer_norm(encoder + ".emb_layer_norm", width);
    list.add_layer_norm(encoder + ".proj_emb_layer_norm", width);
  }
  const std::vector<const char*> separate = {"pq_proj", "pk_proj", "pv_proj", "q_proj",
                                             "k_proj",  "v_proj",  "out_proj"},
                                 tied = {"pq_proj", "pc_proj", "q_proj", "c_proj", "out_proj"};
  for (int64_t i = 0; i < (share_layers ? 1 : layers); ++i) {
    const std::string layer = encoder + ".layers." + std::to_string(i);
    for (const char* projection : tie_keys ? tied : separate)
      list.add_linear(layer + ".self_attn." + projection, width, width, ModelPart::attention);
    list.add_layer_norm(layer + ".self_attn_layer_norm", width);
    list.add_layer_norm(layer + ".self_atten_proj_layer_norm", width);
    list.add_linear(layer + ".fc1", hidden, width, ModelPart::feed_forward);
    list.add_linear(layer + ".fc2", width, hidden, ModelPart::feed_forward);
    list.add_layer_norm(layer + ".final_layer_norm", width);
  }
  if (prenorm) list.add_layer_norm(encoder + ".layer_norm", width);
  return list.take();
}

double LunaOptions::multiply_adds(int64_t length) const {
  const double d = real(width), f = real(hidden), l = real(std::min(packed, length));
  const double keys = tie_keys ? 1 : 2;
  const double per_token = (keys + 2) * d * d + 4 * d * l + 2 * d * f, per_packed = (keys + 1) * d * d;
  return real(layers) * (per_token + per_packed * l / real(length));
}

double LunaOptions::activation_bytes(int64_t length, int64_t batch) const {
  const double d = real(width), f = real(hidden), l = real(std::min(packed, length));
  const double keys = tie_keys ? 1 : 2;
  // Of a token: keys and values for packing; the query, the attention's output with its normalizers; the
  // input of each norm with its two statistics, and its output; the hidden layer before its activation.
  const double token = keys * d + 2 * d + real(heads) + 2 * (2 * d + 2) + f;
  // Of a packed position: the query, the output with its normalizers, keys and values made of it, its norm.
  const double position = 2 * d + real(pack_heads) + keys * d + 2 * d + 2;
  const double tokens = real(length), all = tokens * token + l * position;
  const double embedding = normalize_embedding ? (tokens + l) * (d + 2) : 0.0;
  const double moment = std::max(2 * f + d, 3 * d) * tokens;
  return 4.0 * real(batch) * (real(documents) * (real(layers) * all + embedding) + moment);
}

bool LunaOptions::match(const ModelKind& other) {
  const auto* mega = dynamic_cast<const EncoderClassifierOptions*>(&other);
  if (mega == nullptr) return false;
  static_cast<SequenceOptions&>(*this) = *mega;
  documents = mega->document_count();
  const BlockOptions& block = mega->block;
  width = block.width;
  heads = pack_heads = heads_like(block, 4);
  dropout = block.dropout;
  attention_dropout = block.attention_dropout;
  activation_dropout = block.activation_dropout;
  const int64_t projections = tie_keys ? 5 : 7;
  hidden = feed_forward_like(block, projections * width * width + packed * width / layers);
  return true;
}

}  // namespace mega
