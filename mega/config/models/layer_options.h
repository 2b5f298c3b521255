// What a Mega layer is: the options of the paper's modules, declared once.
//
// Names follow the paper's tables; shape letters are those of docs/architecture.md:
// D width, V values, Z shared, N ema.dimension, F hidden, C chunk.
#pragma once

#include <cstdint>

#include "mega/base/options/options.h"

namespace mega {

enum class EmaKind { plain, damped, multidimensional, complex };
enum class AttentionFunction { softmax, relu2, laplace };
enum class PositionKind { none, simple, rotary, t5, rope, alibi, tupe };
enum class NormKind { layer, scale, rms, batch, sync_batch, timestep };
enum class Activation { identity, silu, gelu, gelu_tanh, relu, relu2, sigmoid };

template <>
struct EnumNames<EmaKind> {
  static constexpr auto names = enum_table<EmaKind>({{EmaKind::plain, "plain"},
                                                     {EmaKind::damped, "damped"},
                                                     {EmaKind::multidimensional, "multidimensional"},
                                                     {EmaKind::complex, "complex"}});
};
template <>
struct EnumNames<AttentionFunction> {
  static constexpr auto names = enum_table<AttentionFunction>({{AttentionFunction::softmax, "softmax"},
                                                               {AttentionFunction::relu2, "relu2"},
                                                               {AttentionFunction::laplace, "laplace"}});
};
template <>
struct EnumNames<PositionKind> {
  static constexpr auto names = enum_table<PositionKind>({{PositionKind::none, "none"},
                                                          {PositionKind::simple, "simple"},
                                                          {PositionKind::rotary, "rotary"},
                                                          {PositionKind::t5, "t5"},
                                                          {PositionKind::rope, "rope"},
                                                          {PositionKind::alibi, "alibi"},
                                                          {PositionKind::tupe, "tupe"}});
};
template <>
struct EnumNames<NormKind> {
  static constexpr auto names = enum_table<NormKind>({{NormKind::layer, "layer"},
                                                      {NormKind::scale, "scale"},
                                                      {NormKind::rms, "rms"},
                                                      {NormKind::batch, "batch"},
                                                      {NormKind::sync_batch, "sync_batch"},
                                                      {NormKind::timestep, "timestep"}});
};
template <>
struct EnumNames<Activation> {
  static constexpr auto names = enum_table<Activation>({{Activation::identity, "identity"},
                                                        {Activation::silu, "silu"},
                                                        {Activation::gelu, "gelu"},
                                                        {Activation::gelu_tanh, "gelu_tanh"},
                                                        {Activation::relu, "relu"},
                                                        {Activation::relu2, "relu2"},
                                                        {Activation::sigmoid, "sigmoid"}});
};

inline constexpr Range kProbability{0.0, 1.0};
inline constexpr Range kWidth{1, 1 << 20};

// The moving average of section 3.1. `plain` is equation (2), `damped` equation (3), `multidimensional`
// equations (4, 5). The released implementation adds the three extras, which are on by default. There are two
// releases, for sequences and for images, which differ in `shift` and `exchanged`; the defaults are those for
// sequences. `complex` is Megalodon's, whose averages turn as they decay; it has no SiLU (activated = false),
// and no truncation.
struct EmaOptions {
  EmaKind kind = EmaKind::multidimensional;
  int64_t dimension = 16;
  bool bidirectional = true;
  int64_t truncation = 0;
  bool scaled = true;
  bool skip = true;
  bool activated = true;
  bool shift = false;
  bool exchanged = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("kind", self.kind,
            "moving average of the paper, plain, damped or multidimensional; or Megalodon's, complex");
    v.field("dimension", self.dimension, "N, moving averages per channel; 0 removes the EMA (X' = X)",
            Range{0, 1024});
    v.field("bidirectional", self.bidirectional, "average over past and future, not over the past alone");
    v.field("truncation", self.truncation, "keep only this many lags of the kernel; 0 keeps all",
            Range{0, 1e12});
    v.field("scaled", self.scaled, "divide by sqrt(N), as released");
    v.field("skip", self.skip, "add omega * x, as released");
    v.field("activated", self.activated, "end with SiLU, as released");
    v.field("shift", self.shift,
            "the average over the future begins with the next position, as released for images");
    v.field("exchanged", self.exchanged,
            "alpha weighs the input and delta damps, as in the paper and as released for images");
  }
};

// Numbers of a channel's state, of which a complex average has two.
int64_t state_numbers(const EmaOptions& options);

// One block: gated attention, then (in a decoder) gated cross attention, then feed-forward.
struct BlockOptions {
  int64_t width = 128;
  int64_t values = 256;
  int64_t shared = 64;
  int64_t hidden = 256;
  EmaOptions ema;
  AttentionFunction attention = AttentionFunction::softmax;
  PositionKind position = PositionKind::simple;
  int64_t max_positions = 1024;
  int64_t chunk = -1;
  bool causal = false;
  NormKind norm = NormKind::layer;
  int64_t norm_groups = 32;
  bool prenorm = false;
  bool affine = true;
  Activation activation = Activation::silu;
  double dropout = 0.0;
  double attention_dropout = 0.0;
  double hidden_dropout = 0.0;
  double activation_dropout = 0.0;
  double layer_dropout = 0.0;
  double drop_path = 0.0;
  bool feature_dropout = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("width", self.width, "D, width of the model", kWidth);
    v.field("values", self.values, "V, width of the values", kWidth);
    v.field("shared", self.shared, "Z, width of the shared queries and keys", kWidth);
    v.field("hidden", self.hidden, "F, width inside the feed-forward; 0 leaves it out", Range{0, 1 << 20});
    v.nested("ema", self.ema, "the moving average");
    v.field("attention", self.attention, "what turns scores into weights");
    v.field("position", self.position, "how attention knows relative positions");
    v.field("max_positions", self.max_positions, "longest sequence for `simple` with full attention",
            Range{1, 1e9});
    v.field("chunk", self.chunk, "C, attend inside chunks of this many positions; -1 attends to all",
            Range{-1, 1e9});
    v.field("causal", self.causal, "attend to the past only");
    v.field("norm", self.norm,
            "normalisation; timestep: by all positions so far, in the attention (the rest has layer norms)");
    v.field("norm_groups", self.norm_groups, "groups of channels of the timestep norm; divides the width",
            Range{1, 1 << 20});
    v.field("prenorm", self.prenorm, "normalise before each sublayer, not after");
    v.field("affine", self.affine, "learned scale (and shift) in the norms");
    v.field("activation", self.activation, "activation of values, candidate and feed-forward");
    v.field("dropout", self.dropout, "on the EMA's output, the candidate and the feed-forward's output",
            kProbability);
    v.field("attention_dropout", self.attention_dropout, "on attention weights", kProbability);
    v.field("hidden_dropout", self.hidden_dropout, "on values", kProbability);
    v.field("activation_dropout", self.activation_dropout, "inside the feed-forward", kProbability);
    v.field("layer_dropout", self.layer_dropout, "stochastic depth: skip a whole block", kProbability);
    v.field(
        "drop_path", self.drop_path,
        "stochastic depth: leave out what a sublayer of the last block adds to a sequence; of earlier blocks "
        "in proportion to their depth",
        kProbability);
    v.field("feature_dropout", self.feature_dropout, "drop whole channels of a sequence, not single values");
  }
};

// Blocks one above the other, with the norms before and after them.
struct StackOptions {
  BlockOptions block;
  int64_t layers = 0;
  bool normalize_embedding = false;
  bool affine_final_norm = true;
  bool cross_attention = false;   // in every block: a decoder's
  bool drop_embedding = true;     // dropout on the embedding, too
  const char* blocks = "layers";  // the released name of the list of blocks
  bool final_norm = true;         // prenorm blocks end with a norm
};

// The norm of everything but the attention: the timestep norm belongs to that alone.
inline NormKind plain_norm(NormKind norm) { return norm == NormKind::timestep ? NormKind::layer : norm; }

// Throws where the fields do not fit each other: chunk 0, an odd Z with a rotation, ...
void validate(const BlockOptions& options);

// The same for a norm between the embedding and the first block.
void check_embedding_norm(bool normalize_embedding, const BlockOptions& block);

}  // namespace mega
