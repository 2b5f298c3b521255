#include "mega/infer/longest_first.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <numeric>
#include <vector>

namespace mega::infer {

void longest_first(ThreadPool& pool, std::span<const int64_t> sizes,
                   const std::function<void(size_t index, size_t slot)>& job) {
  std::vector<std::exception_ptr> errors(sizes.size());
  const auto run = [&](size_t index, size_t slot) {
    try {
      job(index, slot);
    } catch (...) {
      errors[index] = std::current_exception();
    }
  };
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  const auto threads = static_cast<size_t>(pool.threads());
  const size_t shared = sizes.size() / threads * threads;
  std::atomic<size_t> next = 0;
  pool.run(pool.threads(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot)
      for (size_t i = next++; i < shared; i = next++) run(order[i], static_cast<size_t>(slot));
  });
  for (size_t i = shared; i < sizes.size(); ++i) run(order[i], 0);
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace mega::infer
