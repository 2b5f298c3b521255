// Predictions for many examples, several at a time.
#pragma once

#include <span>
#include <vector>

#include "mega/data/batches.h"
#include "mega/data/record.h"
#include "mega/infer/models/sequence_model.h"
#include "mega/infer/thread_pool.h"

namespace mega::infer {

// Each thread takes examples of its own (longest_first).
class SideBySide {
 public:
  // Model and pool must outlive it.
  SideBySide(const SequenceModel& model, ThreadPool& pool);

  // outputs_of each example, in their order and to the bit as one by one. If some fail, throws what the first
  // of them threw.
  std::vector<std::vector<float>> outputs(std::span<const data::Record> records);
  std::vector<std::vector<float>> outputs(const data::Batch& batch);

 private:
  const SequenceModel& model_;
  ThreadPool& pool_;
  std::vector<Workspace> work_;  // one for each thread
};

}  // namespace mega::infer
