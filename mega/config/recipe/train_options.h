// How a model is trained: the optimiser and its schedule, as published with each preset.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mega/base/options/options.h"
#include "mega/config/models/layer_options.h"
#include "mega/config/recipe/precision.h"

namespace mega {

// How the learning rate goes down after the warm-up. `cosine` reaches its end with the last update.
// `cosine_full`, as released for images, is as long as all updates together although it begins after the
// warm-up, so that training ends before it does.
enum class Schedule { linear, inverse_sqrt, cosine, cosine_full, constant };

// What a batch counts.
enum class BatchUnit { examples, tokens };

// The time that a run counts: that of the wall, or that of the CPU, which other programs on the machine do
// not use up.
enum class TimeSource { wall, cpu };

template <>
struct EnumNames<Schedule> {
  static constexpr auto names = enum_table<Schedule>({{Schedule::linear, "linear"},
                                                      {Schedule::inverse_sqrt, "inverse_sqrt"},
                                                      {Schedule::cosine, "cosine"},
                                                      {Schedule::cosine_full, "cosine_full"},
                                                      {Schedule::constant, "constant"}});
};
template <>
struct EnumNames<BatchUnit> {
  static constexpr auto names =
      enum_table<BatchUnit>({{BatchUnit::examples, "examples"}, {BatchUnit::tokens, "tokens"}});
};
template <>
struct EnumNames<TimeSource> {
  static constexpr auto names =
      enum_table<TimeSource>({{TimeSource::wall, "wall"}, {TimeSource::cpu, "cpu"}});
};

// How often something happens: every so many updates ("500u"), epochs ("1e", "0.5e") or as much time ("90s",
// "10m", "2h"); "" or "0" is never.
struct Period {
  enum class Unit { never, updates, epochs, seconds };
  double count = 0.0;
  Unit unit = Unit::never;
};
Period parse_period(const std::string& text);

// Parameters that learn differently: those whose name matches a pattern in which * stands for anything.
struct ParameterGroup {
  std::string names = "*";
  double learning_rate = 1.0;
  double weight_decay = 1.0;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("names", self.names, "pattern of parameter names; * stands for anything");
    v.field("learning_rate", self.learning_rate, "factor on the learning rate; 0 freezes", Range{0, 1e6});
    v.field("weight_decay", self.weight_decay, "factor on the weight decay", Range{0, 1e6});
  }
};

// Where the blocks of running text end that a language model trains on: at the end of a line, as released, or
// wherever an exact number of chunks does.
enum class BlockCut { lines, exact };

template <>
struct EnumNames<BlockCut> {
  static constexpr auto names =
      enum_table<BlockCut>({{BlockCut::lines, "lines"}, {BlockCut::exact, "exact"}});
};

// How running text becomes examples: blocks of m chunks, m drawn anew for each block and epoch (section 4.3
// of the paper, its appendix D).
struct BlockPlan {
  BlockCut cut = BlockCut::lines;
  int64_t chunk = 0;
  int64_t min_chunks = 2;
  int64_t max_chunks = 4;
  bool carry = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("cut", self.cut, "blocks are whole lines as far as they fit, or of exact length");
    v.field("chunk", self.chunk, "tokens of a chunk; 0: those of model.block.chunk", Range{0, 1e9});
    v.field("min_chunks", self.min_chunks, "fewest chunks of a block", Range{1, 1e6});
    v.renamed_from("least");
    v.field("max_chunks", self.max_chunks, "most chunks of a block", Range{1, 1e6});
    v.renamed_from("most");
    v.field("carry", self.carry,
            "blocks follow each other and carry the state on, without its gradient; blocks are then exact");
  }
};

// Which score of the validation pairs the best model of a translator is chosen by.
enum class TranslationScore { loss, bleu };

template <>
struct EnumNames<TranslationScore> {
  static constexpr auto names =
      enum_table<TranslationScore>({{TranslationScore::loss, "loss"}, {TranslationScore::bleu, "bleu"}});
};

// What an evaluation of a translator does while it trains, beside the loss of all validation pairs: BLEU of
// what it writes for some of them.
struct TranslationPlan {
  TranslationScore select = TranslationScore::loss;
  int64_t sentences = 500;
  int64_t beam = 5;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("select", self.select, "score of the validation pairs that the best model is chosen by");
    v.field("sentences", self.sentences,
            "validation pairs, evenly spread, that are translated for BLEU; 0: none", Range{0, 1e9});
    v.field("beam", self.beam, "hypotheses of the search for these translations; 1 is greedy",
            Range{1, 4096});
  }
};

// How gradients travel between processes.
enum class GradientWire { exact, bf16 };

template <>
struct EnumNames<GradientWire> {
  static constexpr auto names =
      enum_table<GradientWire>({{GradientWire::exact, "exact"}, {GradientWire::bf16, "bf16"}});
};

// What each process takes of a batch: some of its examples, or a piece of every sequence.
enum class SharedWork { examples, sequences };

template <>
struct EnumNames<SharedWork> {
  static constexpr auto names =
      enum_table<SharedWork>({{SharedWork::examples, "examples"}, {SharedWork::sequences, "sequences"}});
};

// How several processes train one model (docs/scaling.md).
struct ProcessOptions {
  GradientWire wire = GradientWire::exact;
  bool overlap = true;
  int64_t bucket = 4096;
  bool share_optimizer = false;
  SharedWork share = SharedWork::examples;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field(
        "share", self.share,
        "each process takes some examples of a batch, or a piece of every sequence, to train on longer ones");
    v.field("wire", self.wire, "gradients travel as they are, or rounded to bf16, in half the bytes");
    v.field("overlap", self.overlap, "send gradients while the backward pass still computes others");
    v.field("bucket", self.bucket, "KiB of gradients that are sent together", Range{1, 1e6});
    v.field("share_optimizer", self.share_optimizer,
            "each process keeps and updates a part of Adam's moments, and sends the others its parameters");
  }
};

inline constexpr Range kLearningRate{0, 1e3};
inline constexpr Range kUpdates{0, 1e12};

// AdamW with decoupled weight decay, as released: on every parameter, of image models not on biases, norms
// and learned positions.
struct TrainOptions {
  int64_t seed = 1;
  Precision precision = Precision::f32;
  std::string init;
  double learning_rate = 1e-3;
  double initial_learning_rate = 1e-7;
  double final_learning_rate = 0.0;
  Schedule schedule = Schedule::linear;
  int64_t warmup = 0;
  double warmup_power = 1.0;
  int64_t hold = 1;
  int64_t updates = 10000;
  double epochs = 0.0;
  std::string time;
  TimeSource clock = TimeSource::wall;
  int64_t batch = 32;
  BatchUnit batch_unit = BatchUnit::examples;
  int64_t accumulation = 1;
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-8;
  bool corrected_epsilon = false;
  double weight_decay = 0.01;
  double clip = 1.0;
  double label_smoothing = 0.0;
  bool by_length = true;
  std::string evaluate = "1e";
  std::string checkpoint = "10m";
  int64_t keep = 2;
  int64_t patience = 0;
  double average = 0.0;
  bool baseline = true;
  BlockPlan blocks;
  TranslationPlan translation;
  ProcessOptions processes;
  std::vector<ParameterGroup> groups;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("seed", self.seed, "of all random numbers; the same seed gives the same bits", Range{0, 1e15});
    v.field("precision", self.precision,
            "of products: f32, bf16 (sums in f32), or auto: bf16 where the CPU multiplies it natively");
    v.field("init", self.init, "model file to start from; weights that do not fit are named, and fresh");
    v.field("learning_rate", self.learning_rate, "the highest learning rate, reached after the warm-up",
            kLearningRate);
    v.field("initial_learning_rate", self.initial_learning_rate, "learning rate of the first update",
            kLearningRate);
    v.field("final_learning_rate", self.final_learning_rate, "learning rate at the end of the schedule",
            kLearningRate);
    v.field("schedule", self.schedule, "how the learning rate goes down after the warm-up");
    v.field("warmup", self.warmup, "updates until the highest learning rate", kUpdates);
    v.field("warmup_power", self.warmup_power, "1 warms up in a straight line, 2 in a parabola",
            Range{0.1, 10});
    v.field("hold", self.hold,
            "updates in a row that have the learning rate of the first of them, e.g. those of an epoch",
            Range{1, 1e12});
    v.field("updates", self.updates, "updates in all", kUpdates);
    v.field("epochs", self.epochs, "passes over the training data, instead of `updates`; 0: `updates` counts",
            Range{0, 1e9});
    v.field("time", self.time,
            "time of the whole run (90s, 10m, 2h), instead of `updates`; empty: `updates` counts");
    v.field("clock", self.clock,
            "what `time` counts, and the seconds of updates: wall, or cpu, the CPU time of each thread on "
            "average, which other programs on the machine do not use up");
    v.field("batch", self.batch, "examples or tokens that go through the model at once", Range{1, 1e9});
    v.field("batch_unit", self.batch_unit, "what `batch` counts");
    v.field("accumulation", self.accumulation, "batches whose gradients are added up for one update",
            Range{1, 1e6});
    v.field("beta1", self.beta1, "Adam's memory of gradients", kProbability);
    v.field("beta2", self.beta2, "Adam's memory of squared gradients", kProbability);
    v.field("epsilon", self.epsilon, "added to Adam's denominator", Range{0, 1});
    v.field("corrected_epsilon", self.corrected_epsilon,
            "add epsilon after the denominator's bias correction, as torch does and as released for images");
    v.field("weight_decay", self.weight_decay,
            "decay per unit of learning rate: on every parameter, of image models on matrices",
            Range{0, 100});
    v.field("clip", self.clip, "largest norm of the gradient; 0 does not clip", Range{0, 1e9});
    v.field("label_smoothing", self.label_smoothing, "share of the target spread over all classes",
            kProbability);
    v.field("by_length", self.by_length, "put sequences of similar length into a batch");
    v.field("evaluate", self.evaluate,
            "how often to evaluate: 500u updates, 1e epochs, 10m minutes; 0: at the end");
    v.field("checkpoint", self.checkpoint, "how often to save what a resumed run needs; 0: at the end");
    v.field("keep", self.keep, "newest checkpoints that are kept", Range{1, 1e6});
    v.field("patience", self.patience, "stop after so many evaluations without a better one; 0 never does",
            Range{0, 1e9});
    v.field("average", self.average,
            "memory of a running average of the weights, which is what is evaluated and "
            "kept, e.g. 0.999; 0: none",
            Range{0, 0.999999});
    v.field("baseline", self.baseline,
            "on texts, first fit a linear classifier on n-grams, for seconds, to compare with");
    v.nested("blocks", self.blocks, "how running text is cut, for language models");
    v.nested("translation", self.translation, "what evaluations of a translator do");
    v.nested("processes", self.processes, "how several processes train one model");
    v.list("groups", self.groups, "parameters with a learning rate or a weight decay of their own");
  }
};

// Throws where fields do not fit each other.
void validate(const TrainOptions& options);

}  // namespace mega
