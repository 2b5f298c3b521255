// Work on many items by several threads, with results used in the order of the items.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace mega::data {

inline constexpr int64_t kAllCores = 0;

// Calls make(i) for each i < count on several threads and use(i, result) in order on this one. Results that
// wait for their turn are bounded, in number and in their bytes, size_of(result). What `make` throws is
// thrown here when its turn comes. One thread is this one.
template <class Make, class SizeOf, class Use>
void in_order(int64_t count, const Make& make, const SizeOf& size_of, const Use& use,
              int64_t threads = kAllCores) {
  using Result = std::invoke_result_t<Make, int64_t>;
  constexpr int64_t kMostResults = 1024, kMostBytes = int64_t{64} << 20;
  if (count < 2 || threads == 1) {
    for (int64_t i = 0; i < count; ++i) use(i, make(i));
    return;
  }
  struct Made {
    std::optional<Result> result;
    std::exception_ptr error;
    int64_t bytes = 0;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int64_t, Made> ready;
  int64_t next = 0, used = 0, waiting_bytes = 0;
  bool stop = false;

  const auto work = [&] {
    std::unique_lock lock(mutex);
    while (true) {
      // The item whose turn it is may always be made: everybody waits for it.
      changed.wait(lock, [&] {
        return stop || next == count || next == used ||
               (waiting_bytes < kMostBytes && next - used < kMostResults);
      });
      if (stop || next == count) return;
      const int64_t i = next++;
      lock.unlock();
      Made made;
      try {
        made.result = make(i);
        made.bytes = static_cast<int64_t>(size_of(*made.result));
      } catch (...) {
        made.error = std::current_exception();
      }
      lock.lock();
      waiting_bytes += made.bytes;
      ready.emplace(i, std::move(made));
      changed.notify_all();
    }
  };
  struct StopAtTheEnd {
    std::mutex& mutex;
    std::condition_variable& changed;
    bool& stop;
    std::vector<std::jthread> threads;
    ~StopAtTheEnd() {
      {
        const std::lock_guard lock(mutex);
        stop = true;
      }
      changed.notify_all();
      threads.clear();
    }
  } workers{mutex, changed, stop, {}};
  if (threads == kAllCores)
    threads = static_cast<int64_t>(std::clamp(std::thread::hardware_concurrency(), 2U, 16U));
  for (int64_t i = 0; i < std::min(threads, count); ++i) workers.threads.emplace_back(work);

  while (used < count) {
    Made made;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return ready.contains(used); });
      made = std::move(ready.extract(used).mapped());
      waiting_bytes -= made.bytes;
    }
    if (made.error) std::rethrow_exception(made.error);
    use(used, std::move(*made.result));
    {
      const std::lock_guard lock(mutex);
      ++used;
    }
    changed.notify_all();
  }
}

}  // namespace mega::data
