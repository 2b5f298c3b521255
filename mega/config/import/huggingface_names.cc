#include "mega/config/import/huggingface_names.h"

#include <array>
#include <span>

namespace mega {
namespace {

struct NamePair {
  std::string_view huggingface, released;
};

// Outside of layers, with all that follows the name.
constexpr auto kCausal = std::to_array<NamePair>({
    {"mega.embedding_layer.word_embeddings.", "decoder.embed_tokens."},
    {"lm_head.", "decoder.output_projection."},
    {"dense.", "decoder.output_dense."},
    {"mega.layers.", "decoder.layers."},
});
constexpr auto kMasked = std::to_array<NamePair>({
    {"mega.embedding_layer.word_embeddings.", "decoder.embed_tokens."},
    {"mlm_head.", "decoder.output_projection."},
    {"dense.", "decoder.output_dense."},
    {"mega.layers.", "decoder.layers."},
});
constexpr auto kClassifier = std::to_array<NamePair>({
    {"mega.embedding_layer.word_embeddings.", "encoder.encoder.embed_tokens.embed."},
    {"classifier.dense.", "classifier.0.0."},
    {"classifier.out_proj.", "sentence_projection_layer."},
    {"mega.layers.", "encoder.encoder.layers."},
});

// The ends of names inside a layer that differ. Early files have the released name of the moving average.
constexpr auto kInside = std::to_array<NamePair>({
    {".ema_gate.damping_factor", ".move.delta"},
    {".ema_gate.decay_factor", ".move.alpha"},
    {".ema_gate.ema_expansion_matrix", ".move.beta"},
    {".ema_gate.kernel_projection_matrix", ".move.gamma"},
    {".ema_gate.residual_weight", ".move.omega"},
    {".move.damping_factor", ".move.delta"},
    {".move.decay_factor", ".move.alpha"},
    {".move.ema_expansion_matrix", ".move.beta"},
    {".move.kernel_projection_matrix", ".move.gamma"},
    {".move.residual_weight", ".move.omega"},
    {".mega_layer.qk_weight", ".mega_layer.gamma"},
    {".mega_layer.qk_bias", ".mega_layer.beta"},
    {".rel_pos_bias.b_param", ".rel_pos_bias.beta"},
});

std::span<const NamePair> table_of(HuggingFaceFamily family) {
  switch (family) {
    case HuggingFaceFamily::causal:
      return kCausal;
    case HuggingFaceFamily::masked:
      return kMasked;
    case HuggingFaceFamily::classifier:
      break;
  }
  return kClassifier;
}

using Side = std::string_view NamePair::*;

std::optional<std::string> translate(std::string_view name, HuggingFaceFamily family, Side from, Side to) {
  for (const NamePair& outside : table_of(family)) {
    if (!name.starts_with(outside.*from)) continue;
    const std::string rest(name.substr((outside.*from).size()));
    for (const NamePair& inside : kInside)
      if (rest.ends_with(inside.*from))
        return std::string(outside.*to) + rest.substr(0, rest.size() - (inside.*from).size()) +
               std::string(inside.*to);
    return std::string(outside.*to) + rest;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> name_from_huggingface(std::string_view name, HuggingFaceFamily family) {
  return translate(name, family, &NamePair::huggingface, &NamePair::released);
}

std::optional<std::string> name_for_huggingface(std::string_view name, HuggingFaceFamily family) {
  return translate(name, family, &NamePair::released, &NamePair::huggingface);
}

}  // namespace mega
