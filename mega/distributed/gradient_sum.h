// Gradients summed over processes while the backward pass still runs.
//
// Parameters form buckets, from the last to the first, which is about the order in which a backward pass
// finishes them. As soon as the gradients of a bucket are there, a thread sums them over all processes;
// buckets always go in the same order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "mega/distributed/communicator.h"
#include "mega/distributed/parameter_shares.h"

namespace mega::distributed {

struct GradientSumOptions {
  int64_t bucket_bytes = int64_t{4} << 20;
  Wire wire = Wire::exact;
  bool overlap = true;  // false: all buckets after the backward pass, to compare
};

// What a process keeps of gradients that are summed for the owners of their numbers (ParameterShares).
struct OwnGradients {
  std::vector<torch::Tensor> sums;  // of each parameter, the own numbers, as a row
  std::vector<bool> found;          // whether there was a gradient in this process
};

class GradientSum {
 public:
  // The communicator is used by the thread of this object alone. With `shares` of the same parameters, which
  // must outlive it, each process gets the sums of its own numbers, and gradients end with their bucket.
  GradientSum(const std::vector<torch::Tensor>& parameters, Communicator& communicator,
              const GradientSumOptions& options, const ParameterShares* shares = nullptr);
  ~GradientSum();
  GradientSum(const GradientSum&) = delete;
  GradientSum& operator=(const GradientSum&) = delete;

  // Before the last backward pass of an update.
  void begin();
  // After it: waits until every gradient is the sum over processes. A parameter has a gradient if it had one
  // in some process. Throws what went wrong in the thread.
  void finish();
  // With shares, after it, instead of gradients.
  const OwnGradients& own() const { return own_; }

  // The time that finish() waited, of all updates.
  double seconds_waited() const { return seconds_waited_; }

 private:
  struct Bucket {
    std::vector<size_t> parameters;
    int64_t numbers = 0;
    size_t missing = 0;  // gradients that are not there yet
  };
  class Hook;

  void make_buckets();
  void make_buckets(const ParameterShares& shares);
  void mark_ready(size_t parameter);
  void send_next_buckets(bool all);
  void sum_bucket(const Bucket& bucket);
  void keep_own(const Bucket& bucket, const torch::Tensor& row);
  void work();

  std::vector<torch::Tensor> parameters_;
  const ParameterShares* shares_;
  OwnGradients own_;
  std::vector<size_t> bucket_of_;
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;  // which hold the hooks
  std::vector<uintptr_t> hooks_;
  Communicator& communicator_;
  GradientSumOptions options_;
  std::vector<Bucket> buckets_;
  bool listening_ = false;  // in the last backward pass
  size_t sent_ = 0;         // buckets given to the thread
  double seconds_waited_ = 0.0;

  std::mutex mutex_;
  std::condition_variable changed_;
  size_t wanted_ = 0, summed_ = 0;  // buckets of this update
  std::exception_ptr error_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace mega::distributed
