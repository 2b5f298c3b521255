// The state space models that the paper compares with: S4 (Gu et al. 2022) and its diagonal form, S4D.
//
// Every channel is a linear system of N numbers, x' = A x + B u, y = C x + D u, computed as a convolution
// with its impulse response. Its eigenvalues are complex in pairs, of which one each is stored: N/2.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/config/models/classifier_options.h"
#include "mega/config/models/language_options.h"

namespace mega {

// S4 as first published: A and its two low-rank vectors are free, one A for all channels; or as released
// again in 2022, the paper's S4-v2: stable by construction, with one low-rank vector.
enum class S4Release { v1, v2 };
// What S4D's A begins with: the frequencies of Lin or Inv, or the diagonal of HiPPO-LegS.
enum class S4Frequencies { lin, inv, legs };
// How continuous time becomes steps: the bilinear rule, or inputs held for a step.
enum class Discretization { bilinear, zoh };
// How a parameter becomes a positive step.
enum class StepForm { exp, softplus };

template <>
struct EnumNames<S4Release> {
  static constexpr auto names = enum_table<S4Release>({{S4Release::v1, "v1"}, {S4Release::v2, "v2"}});
};
template <>
struct EnumNames<S4Frequencies> {
  static constexpr auto names = enum_table<S4Frequencies>(
      {{S4Frequencies::lin, "lin"}, {S4Frequencies::inv, "inv"}, {S4Frequencies::legs, "legs"}});
};
template <>
struct EnumNames<Discretization> {
  static constexpr auto names =
      enum_table<Discretization>({{Discretization::bilinear, "bilinear"}, {Discretization::zoh, "zoh"}});
};
template <>
struct EnumNames<StepForm> {
  static constexpr auto names =
      enum_table<StepForm>({{StepForm::exp, "exp"}, {StepForm::softplus, "softplus"}});
};

// What the layers of both have in common.
struct StateSpaceOptions {
  int64_t width = 256;
  int64_t state = 64;
  int64_t copies = 0;
  bool bidirectional = true;
  StepForm step = StepForm::exp;
  double min_step = 1e-3;
  double max_step = 0.1;
  double state_learning_rate = 1e-3;
  bool glu = true;
  NormKind norm = NormKind::batch;
  bool prenorm = true;
  double dropout = 0.0;
  bool feature_dropout = false;

  // Systems that channels share: channel c has number c modulo this.
  int64_t systems() const { return copies == 0 ? width : copies; }
  int64_t pairs() const { return state / 2; }

  void check_layer() const;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("width", self.width, "D, width of the model", kWidth);
    v.field("state", self.state, "N, state of each channel's system; even", Range{2, 4096});
    v.field("copies", self.copies, "systems A, B that channels share; 0: each has its own",
            Range{0, 1 << 20});
    v.field("bidirectional", self.bidirectional, "see past and future, not the past alone");
    v.field("step", self.step, "what makes a positive step of its parameter");
    v.field("min_step", self.min_step, "shortest step of a channel at the start", Range{1e-9, 1e3});
    v.field("max_step", self.max_step, "longest step of a channel at the start", Range{1e-9, 1e3});
    v.field("state_learning_rate", self.state_learning_rate,
            "highest learning rate of A, B and steps, which have no weight decay; 0: the recipe's",
            Range{0, 1e3});
    v.field("glu", self.glu, "a gated output map, D to 2 D");
    v.field("norm", self.norm, "normalisation");
    v.field("prenorm", self.prenorm, "normalise before each layer, not after");
    v.field("dropout", self.dropout, "after the activation and on the output of each layer", kProbability);
    v.field("feature_dropout", self.feature_dropout, "drop whole channels of a sequence, not single values");
  }
};

struct S4LayerOptions : StateSpaceOptions {
  S4Release release = S4Release::v2;
  int64_t kernel_length = 4096;

  void check_layer() const;
  // Of the kernel NAME.
  void add_kernel_tensors(TensorList& list, const std::string& name) const;
  // What making the kernels of a layer keeps, for each of `length` positions.
  double kernel_activations(int64_t length) const;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    StateSpaceOptions::visit(self, v);
    v.field("release", self.release, "as first published, or as released again (the paper's S4-v2)");
    v.field("kernel_length", self.kernel_length,
            "positions that C is stored for; what any other length needs is computed from that",
            Range{1, 1e9});
  }
};

struct S4DLayerOptions : StateSpaceOptions {
  S4Frequencies frequencies = S4Frequencies::lin;
  Discretization discretization = Discretization::zoh;

  void check_layer() const { StateSpaceOptions::check_layer(); }
  void add_kernel_tensors(TensorList& list, const std::string& name) const;
  double kernel_activations(int64_t length) const;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    StateSpaceOptions::visit(self, v);
    v.field("frequencies", self.frequencies, "what A begins with");
    v.field("discretization", self.discretization, "how continuous time becomes steps");
  }
};

// A classifier of one document or a pair.
template <class Layer>
struct StateSpaceClassifierOptions : SequenceOptions, Layer {
  int64_t documents = 1;

  StateSpaceClassifierOptions() { head = 0; }

  void check() const override;
  std::vector<TensorInfo> tensors() const override;
  int64_t document_count() const override { return documents; }
  double multiply_adds(int64_t length) const override;
  double activation_bytes(int64_t length, int64_t batch) const override;
  bool match(const ModelKind& other) override;
  void make_for(int64_t length) override;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    SequenceOptions::visit(self, v);
    v.field("documents", self.documents, "1 classifies a sequence, 2 a pair", Range{1, 2});
    Layer::visit(self, v);
  }
};

struct S4Options : StateSpaceClassifierOptions<S4LayerOptions> {
  static constexpr const char* kind = "s4";
};
struct S4DOptions : StateSpaceClassifierOptions<S4DLayerOptions> {
  static constexpr const char* kind = "s4d";
};

// A language model: blocks of state space layers and a feed-forward. It reads a text in chunks, with a state.
template <class Layer>
struct StateSpaceLanguageOptions : TokenOptions, Layer {
  int64_t mixers = 2;
  int64_t hidden = 4096;
  int64_t chunk = 1024;

  StateSpaceLanguageOptions();

  void check() const override;
  std::vector<TensorInfo> tensors() const override;
  double multiply_adds(int64_t length) const override;
  double activation_bytes(int64_t length, int64_t batch) const override;
  ReadingPlan reading() const override { return {.chunk = chunk}; }
  void set_chunk(int64_t positions) override { chunk = positions; }
  bool match(const ModelKind& other) override;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    TokenOptions::visit(self, v);
    v.field("mixers", self.mixers, "state space layers in each block", Range{1, 64});
    v.field("hidden", self.hidden, "F, width inside the feed-forward of each block; 0 leaves it out",
            Range{0, 1 << 20});
    v.field("chunk", self.chunk, "tokens that are read at once; the state goes from one chunk to the next",
            Range{1, 1e9});
    Layer::visit(self, v);
  }
};

struct S4LanguageOptions : StateSpaceLanguageOptions<S4LayerOptions> {
  static constexpr const char* kind = "s4_language";
};
struct S4DLanguageOptions : StateSpaceLanguageOptions<S4DLayerOptions> {
  static constexpr const char* kind = "s4d_language";
};

}  // namespace mega
