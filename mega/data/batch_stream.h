// Endless training batches, made ahead by a thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "mega/data/batches.h"

namespace mega::data {

// Where batches come from. Used by one thread at a time.
class BatchSource {
 public:
  virtual ~BatchSource() = default;

  // The batches of an epoch as numbers of examples: a function of the epoch alone. What the numbers mean may
  // differ from epoch to epoch.
  virtual std::vector<std::vector<int64_t>> plan(int64_t epoch) = 0;

  // A batch of the epoch that was planned last: a function of that epoch and the examples.
  virtual Batch make(std::span<const int64_t> examples) = 0;

  // Whether examples of a batch change each other, so that a part of a batch is made from the whole.
  virtual bool mixes() const { return false; }
};

// Where a stream of batches stands: what a resumed run continues from.
struct Cursor {
  int64_t epoch = 0;
  int64_t batch = 0;  // of this epoch, the next one
};

class BatchStream {
 public:
  explicit BatchStream(std::unique_ptr<BatchSource> source, Cursor start = {});
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
  std::unique_ptr<BatchSource> source_;
  int64_t batches_per_epoch_;
  Cursor cursor_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Made> ready_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace mega::data
