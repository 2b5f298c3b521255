#include "mega/infer/models/side_by_side.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <numeric>

#include "mega/infer/models/answer.h"

namespace mega::infer {

SideBySide::SideBySide(const SequenceModel& model, ThreadPool& pool)
    : model_(model), pool_(pool), work_(static_cast<size_t>(pool.threads())) {}

std::vector<std::vector<float>> SideBySide::outputs(std::span<const data::Record> records) {
  std::vector<std::vector<float>> outputs(records.size());
  std::vector<std::exception_ptr> errors(records.size());
  const data::Encoder& encoder = model_.encoder();
  const auto compute = [&](size_t i, Workspace& work) {
    try {
      outputs[i] = outputs_of(model_, encoder, records[i], {pool_, work});
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };

  // The longest first: then all threads end at about the same time.
  std::vector<size_t> order(records.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return content_bytes(records[a]) > content_bytes(records[b]); });
  const size_t threads = work_.size(), shared = records.size() / threads * threads;
  std::atomic<size_t> next = 0;
  pool_.run(std::ssize(work_), 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot)
      for (size_t i = next++; i < shared; i = next++) compute(order[i], work_[static_cast<size_t>(slot)]);
  });
  for (size_t i = shared; i < records.size(); ++i) compute(order[i], work_.front());
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  return outputs;
}

}  // namespace mega::infer
