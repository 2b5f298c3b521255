// Batches of pairs, for translators.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mega/data/batch_stream.h"
#include "mega/data/parallel/pair_tokens.h"

namespace mega::data {

// What of a pair counts in a batch: the longer side, with its </s>. In batches of so many tokens, the longest
// such times the number of pairs is at most that, as released.
std::vector<int64_t> pair_lengths(const PairPart& part);

// inputs[0] is the source, inputs[1] what the decoder reads: </s> and the target but for its last token;
// targets.sequences is the target.
Batch make_pair_batch(const PairPart& part, std::span<const int64_t> pairs);

// For evaluation: each pair once, the longest first.
std::vector<std::vector<int64_t>> plan_pairs_once(const PairPart& part, const BatchOptions& options);

// Training batches in an order that is drawn anew each epoch. Some 24 bytes per pair are needed while an
// epoch is planned, and 8 from then on. The part must outlive it.
class PairSource : public BatchSource {
 public:
  PairSource(const PairPart& part, const BatchOptions& options, uint64_t seed)
      : part_(part), options_(options), seed_(seed) {}

  std::vector<std::vector<int64_t>> plan(int64_t epoch) override {
    return plan_epoch(pair_lengths(part_), options_, seed_, epoch);
  }
  Batch make(std::span<const int64_t> examples) override { return make_pair_batch(part_, examples); }

 private:
  const PairPart& part_;
  BatchOptions options_;
  uint64_t seed_;
};

}  // namespace mega::data
