// Batches: which examples go together, and their numbers, padded to a common length, made ahead by a thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
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
  std::vector<int64_t> examples;  // their numbers in the part
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

// Where a stream of batches stands: what a resumed run continues from.
struct Cursor {
  int64_t epoch = 0;
  int64_t batch = 0;  // of this epoch, the next one
};

// Endless training batches, made ahead. The part and the encoder must outlive it.
class BatchStream {
 public:
  BatchStream(const Part& part, const Encoder& encoder, const BatchOptions& options, uint64_t seed,
              Cursor start = {});
  ~BatchStream();
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  // Waits for the next batch; what went wrong in the thread is thrown here.
  Batch next();

  // After the batch that next() gave last.
  Cursor cursor() const { return cursor_; }
  // Of the first epoch; where batches count tokens, other epochs may have a few more or less.
  int64_t batches_per_epoch() const { return batches_per_epoch_; }

 private:
  struct Made {
    Batch batch;
    Cursor after;
    std::exception_ptr error;
  };

  void make(Cursor at);
  void put(Made made);

  static constexpr size_t kAhead = 4;
  const Part& part_;
  const Encoder& encoder_;
  BatchOptions options_;
  uint64_t seed_;
  std::vector<int64_t> lengths_;
  int64_t batches_per_epoch_;
  Cursor cursor_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Made> ready_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace mega::data
