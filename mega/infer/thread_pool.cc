#include "mega/infer/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "mega/base/error.h"

namespace mega::infer {
namespace {

// Longer than the pauses between the tasks of a token, too short to disturb other processes.
constexpr std::chrono::microseconds kPatience(80);
constexpr int kMostThreads = 1024;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins for a moment per call, until the time limit is reached.
class BusyWait {
 public:
  bool go_on() {
    pause();
    // Reading the clock costs as much as several pauses.
    return ++pauses_ % 16 != 0 || std::chrono::steady_clock::now() - start_ < kPatience;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  unsigned pauses_ = 0;
};

}  // namespace

// A job is open while workers may join it. The caller publishes it, works on it, closes it when no items are
// left, and waits for the workers that joined. It never waits for a worker that did not join.
struct ThreadPool::Shared {
  // The state of the current job: number of workers in it, whether it is open, whether the pool is shutting
  // down, whether a worker has gone to sleep since it was published, and from bit kNumber on the job number,
  // by which a worker recognises a new job.
  static constexpr uint32_t kWorkers = (1u << 12) - 1, kOpen = 1u << 12, kEnd = 1u << 13, kAsleep = 1u << 14,
                            kNumber = 1u << 15;
  alignas(64) std::atomic<uint32_t> state{0};
  alignas(64) std::atomic<int64_t> next{0};  // the first item not yet taken
  alignas(64) std::atomic<bool> busy{false};

  // The job. Written by the caller while no job is open and no worker is in one.
  Call call = nullptr;
  const void* context = nullptr;
  int64_t items = 0, grain = 1, shares = 1;
  std::atomic<bool> failed{false};
  std::exception_ptr error;  // written by the thread that set `failed`

  std::vector<std::thread> workers;

  void take_pieces() {
    try {
      for (int64_t begin = next.load(std::memory_order_relaxed); begin < items;) {
        // A share of the remaining items: long ranges first, short ones at the end, so that no thread waits
        // long.
        const int64_t grains = (items - begin - 1) / grain / shares + 1;
        const int64_t end = std::min(begin + grains * grain, items);
        if (!next.compare_exchange_weak(begin, end, std::memory_order_relaxed)) continue;
        call(context, begin, end);
        begin = next.load(std::memory_order_relaxed);
      }
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
      next.store(items, std::memory_order_relaxed);
    }
  }

  // Joins the next job after the last one `joined` and returns its state; kEnd: the pool is shutting down.
  uint32_t join_next(uint32_t joined) {
    BusyWait wait;
    for (;;) {
      uint32_t now = state.load(std::memory_order_acquire);
      if (now & kEnd) return kEnd;
      if ((now & kOpen) && now / kNumber != joined / kNumber) {
        if (state.compare_exchange_weak(now, now + 1, std::memory_order_acquire)) return now;
      } else if (!wait.go_on()) {
        if (!(now & kAsleep) && !state.compare_exchange_weak(now, now | kAsleep)) continue;
        state.wait(now | kAsleep);
        wait = BusyWait();  // too late for this job: spin for the next
      }
    }
  }

  void work() {
    uint32_t job = 0;
    while ((job = join_next(job)) != kEnd) {
      take_pieces();
      state.fetch_sub(1, std::memory_order_release);
    }
  }

  void run() {
    failed.store(false, std::memory_order_relaxed);
    next.store(0, std::memory_order_relaxed);
    const uint32_t number = state.load(std::memory_order_relaxed) / kNumber + 1;
    const uint32_t before = state.exchange(number * kNumber | kOpen);
    if (before & kAsleep) state.notify_all();
    take_pieces();
    state.fetch_and(~kOpen, std::memory_order_relaxed);
    BusyWait wait;
    while (state.load(std::memory_order_acquire) & kWorkers)
      if (!wait.go_on()) std::this_thread::yield();
  }

  void end() {
    state.store(kEnd);
    state.notify_all();
    for (std::thread& worker : workers) worker.join();
  }
};

ThreadPool::ThreadPool(int threads) : shared_(std::make_unique<Shared>()) {
  require(threads >= 0 && threads <= kMostThreads, "cannot use ", threads, " threads: expected 1 to ",
          kMostThreads, ", or 0 for one per core");
  if (threads == 0)
    threads = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads);
  try {
    for (int i = 1; i < threads; ++i)
      shared_->workers.emplace_back([shared = shared_.get()] { shared->work(); });
  } catch (const std::system_error& error) {
    shared_->end();
    fail("cannot start ", threads, " threads (", error.what(), "); use fewer");
  }
}

ThreadPool::~ThreadPool() { shared_->end(); }

int ThreadPool::threads() const { return static_cast<int>(shared_->workers.size()) + 1; }

void ThreadPool::run(int64_t items, int64_t grain, Call call, const void* context) {
  if (items <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  Shared& shared = *shared_;
  // The pool may be busy with the job of this very body: a nested call runs on its own thread, too.
  if (items <= grain || shared.workers.empty() || shared.busy.exchange(true, std::memory_order_acquire))
    return call(context, 0, items);
  shared.call = call;
  shared.context = context;
  shared.items = items;
  shared.grain = grain;
  shared.shares = 2 * int64_t{threads()};
  shared.run();
  const std::exception_ptr error = std::exchange(shared.error, nullptr);
  shared.busy.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(error);
}

}  // namespace mega::infer
