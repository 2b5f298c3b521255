// Threads that wait, busily for a moment, for the next piece of work: a token of a small model is a hundred
// pieces of a few microseconds.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace mega::infer {

// May be used from several threads at once: while one of them has the pool, another does its work alone.
class ThreadPool {
 public:
  // As many threads in all, the caller's among them; 0: one for each core.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  // Calls body(begin, end) for ranges that together are [0, items), each a multiple of `grain` long but the
  // last, and returns when all are done. Which range a thread gets is not fixed, so a body's results must not
  // depend on it. What a body throws is thrown here, once all threads have stopped; of several exceptions,
  // one. A body may call run() itself: then it works alone.
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
