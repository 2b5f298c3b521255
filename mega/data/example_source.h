// Batches of labelled examples for training, in an order that is drawn anew each epoch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mega/data/batch_stream.h"

namespace mega::data {

// The part and the encoder must outlive it.
class ExampleSource : public BatchSource {
 public:
  ExampleSource(const Part& part, const Encoder& encoder, const BatchOptions& options, uint64_t seed)
      : part_(part),
        encoder_(encoder),
        options_(options),
        seed_(seed),
        lengths_(lengths_of(part, encoder, options.documents)) {}

  std::vector<std::vector<int64_t>> plan(int64_t epoch) override {
    epoch_ = epoch;
    return plan_epoch(lengths_, options_, seed_, epoch);
  }
  Batch make(std::span<const int64_t> examples) override {
    return make_batch(part_, encoder_, examples, options_.documents,
                      {true, seed_, epoch_, options_.augment, options_.threads});
  }
  bool mixes() const override { return options_.augment.image.mixes(); }

 private:
  const Part& part_;
  const Encoder& encoder_;
  BatchOptions options_;
  uint64_t seed_;
  std::vector<int64_t> lengths_;
  int64_t epoch_ = 0;  // planned last
};

}  // namespace mega::data
