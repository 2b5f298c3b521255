// Batches: which examples go together, and their numbers, padded to a common length.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mega/config/recipe/augment_options.h"
#include "mega/config/recipe/train_options.h"
#include "mega/data/encoder.h"
#include "mega/data/part.h"

namespace mega::data {

// One sequence of each example, padded to a common length: (size, length) or (size, length, channels).
struct SequenceSet {
  std::vector<int32_t> tokens;  // these,
  std::vector<float> values;    // or these
  std::vector<int64_t> lengths;
  int64_t length = 0, channels = 1;
};

// What a model is to say of each example. One of these is filled; `soft` may stand beside `classes` and then
// takes their place in the loss.
struct Targets {
  std::vector<int64_t> classes;
  std::vector<float> numbers;  // as many of each example as the model has outputs
  SequenceSet sequences;       // a token at each position
  std::vector<float> soft;     // (size, classes): a distribution over the classes
};

struct Batch {
  std::vector<int64_t> examples;    // their numbers in the part
  std::vector<std::string> names;   // where each stands, for messages
  std::vector<SequenceSet> inputs;  // one, or two for pairs
  Targets targets;
  int64_t positions = 0;  // of all inputs, without padding
  bool stand_in =
      false;  // of a process that has no share in a batch: read in step with the others, not counted

  int64_t size() const { return static_cast<int64_t>(examples.size()); }
};

struct BatchOptions {
  int64_t batch = 32;
  BatchUnit unit = BatchUnit::examples;  // tokens: padding counts
  bool by_length = true;
  int documents = 1;
  AugmentOptions augment = {};
  int64_t threads = 0;  // that make the examples of a batch; 0: for pictures as many as there are cores
};

// What a batch is made for. In training, examples are changed at random as `augment` says; which way is a
// function of seed, epoch and example, so that a resumed run sees the same, with any number of threads.
struct BatchContext {
  bool training = false;
  uint64_t seed = 0;
  int64_t epoch = 0;
  AugmentOptions augment = {};
  int64_t threads = 0;
};

// Examples 0 .. n-1, each once, in batches. In training their order is a function of the seed and the epoch;
// `by_length` sorts within windows of many batches, so that little is padded and order stays random. With
// repeated augmentation (options.augment.image.repeats), some of them several times: copy c of example i is
// number c n + i.
std::vector<std::vector<int64_t>> plan_epoch(std::span<const int64_t> lengths, const BatchOptions& options,
                                             uint64_t seed, int64_t epoch);
// For evaluation: the longest first, so that what does not fit into memory fails at once.
std::vector<std::vector<int64_t>> plan_once(std::span<const int64_t> lengths, const BatchOptions& options);

// Of numbers as plan_epoch gives them.
Batch make_batch(const Part& part, const Encoder& encoder, std::span<const int64_t> examples, int documents,
                 const BatchContext& context = {});

// The longest document of each example, as the encoder reads it without augmentation.
std::vector<int64_t> count_lengths(const Part& part, const Encoder& encoder, int documents);

// Counts them once and keeps them with the part.
void measure(Part& part, const Encoder& encoder, int documents);

// Those that the part keeps; counted now where it was not measured.
std::vector<int64_t> lengths_of(const Part& part, const Encoder& encoder, int documents);

}  // namespace mega::data
