// Batches: which examples go together, and their numbers, padded to a common length.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mega/config/train_options.h"
#include "mega/data/dataset.h"
#include "mega/data/encoder.h"

namespace mega::data {

// One document of each example, padded: (size, length) or (size, length, channels).
struct Document {
  std::vector<int64_t> tokens;
  std::vector<float> values;
  std::vector<int64_t> lengths;
  int64_t length = 0, channels = 1;
};

struct Batch {
  std::vector<int64_t> examples;   // their numbers in the part
  std::vector<std::string> names;  // where each stands, for messages
  std::vector<Document> documents;
  std::vector<int64_t> labels;
  std::vector<float> targets;
  int64_t positions = 0;  // of all documents, without padding

  int64_t size() const { return static_cast<int64_t>(examples.size()); }
};

struct BatchOptions {
  int64_t batch = 32;
  BatchUnit unit = BatchUnit::examples;  // tokens: padding counts
  bool by_length = true;
  int documents = 1;
};

// Examples 0 .. n-1, each once, in batches. In training their order is a function of the seed and the epoch;
// `by_length` sorts within windows of many batches, so that little is padded and order stays random.
std::vector<std::vector<int64_t>> plan_epoch(std::span<const int64_t> lengths, const BatchOptions& options,
                                             uint64_t seed, int64_t epoch);
// For evaluation: the longest first, so that what does not fit into memory fails at once.
std::vector<std::vector<int64_t>> plan_once(std::span<const int64_t> lengths, const BatchOptions& options);

Batch make_batch(const Part& part, const Encoder& encoder, std::span<const int64_t> examples, int documents);

// The longest document of each record.
std::vector<int64_t> lengths_of(const Part& part, const Encoder& encoder, int documents);

}  // namespace mega::data
