// The share of one process in the batches of a run of several.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "mega/data/batch_stream.h"

namespace mega::data {

// Of each batch every parts-th example, from number `part` on: batches are often sorted by length, and so all
// have about as much to do. All shares together are the batch, each example once. Where a batch has fewer
// examples than there are parts, the rest get its first one as a stand-in.
class SharedSource : public BatchSource {
 public:
  SharedSource(std::unique_ptr<BatchSource> whole, int64_t part, int64_t parts)
      : whole_(std::move(whole)), part_(part), parts_(parts) {}

  std::vector<std::vector<int64_t>> plan(int64_t epoch) override { return whole_->plan(epoch); }
  Batch make(std::span<const int64_t> examples) override;

 private:
  std::unique_ptr<BatchSource> whole_;
  int64_t part_, parts_;
};

// Rows first, first + step, first + 2 step, ... of a batch, padded as they are.
Batch some_rows(const Batch& batch, int64_t first, int64_t step);

// Positions begin .. end - 1 of every sequence of a batch, in which only the first `real` of them count.
void cut_positions(Batch& batch, int64_t begin, int64_t end, int64_t real);

// Pads to this length, if it is longer.
void pad_to(SequenceSet& set, int64_t length);

}  // namespace mega::data
