// Threads that spin briefly before they sleep while waiting for work: a token of a small model is a hundred
// tasks of a few microseconds.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace mega::infer {

// Thread-safe: while one caller uses the pool, other callers do their work on their own thread.
class ThreadPool {
 public:
  // Number of threads including the caller's; 0: one per core.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  // Calls body(begin, end) for disjoint ranges that cover [0, items), each except the last a multiple of
  // `grain` long, and returns when all are done. The split is not deterministic, so results must not depend
  // on it. If bodies throw, one of the exceptions is rethrown here after all threads have stopped. A body may
  // call run() itself: the nested call runs on its own thread only.
  template <class Body>
  void run(int64_t items, int64_t grain, const Body& body) {
    run(
        items, grain,
        [](const void* context, int64_t begin, int64_t end) {
          (*static_cast<const Body*>(context))(begin, end);
        },
        &body);
  }

 private:
  using Call = void (*)(const void* context, int64_t begin, int64_t end);
  void run(int64_t items, int64_t grain, Call call, const void* context);

  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace mega::infer
