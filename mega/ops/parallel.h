// Splits work over libtorch's threads.
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "mega/ops/phase.h"

namespace mega::ops {

// Counts how long threads wait for the last one of a loop, where phases are measured.
class LoopWatch {
 public:
  template <class Body>
  void run(const Body& body) {
    if (clock_ == nullptr) return body();
    const auto start = Clock::now();
    body();
    busy_ += (Clock::now() - start).count();
  }
  ~LoopWatch() {
    if (clock_ == nullptr) return;
    const double busy = std::chrono::duration<double>(Clock::duration(busy_.load())).count();
    const double all = std::chrono::duration<double>(Clock::now() - start_).count();
    clock_->times_.waiting += std::max(0.0, all - busy / at::get_num_threads());
  }

 private:
  using Clock = std::chrono::steady_clock;
  PhaseClock* clock_ = at::in_parallel_region() ? nullptr : phase_clock();
  Clock::time_point start_ = Clock::now();
  std::atomic<Clock::rep> busy_ = 0;
};

// at::parallel_for: calls body(first, last) on contiguous ranges of at least `grain` items of [begin, end).
template <class Body>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const Body& body) {
  LoopWatch watch;
  at::parallel_for(begin, end, grain,
                   [&](int64_t first, int64_t last) { watch.run([&] { body(first, last); }); });
}

// Calls body(begin, end) on contiguous ranges of rows of at least several thousand elements each.
template <class Body>
void parallel_rows(int64_t rows, int64_t columns, const Body& body) {
  parallel_for(0, rows, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, columns)), body);
}

// For sums over rows: pieces of fixed size, each with its own partial sum. This is more accurate than one
// long sum, and identical for any number of threads.
inline constexpr int64_t kPieceRows = 1024;
inline int64_t pieces_of(int64_t rows) { return (rows + kPieceRows - 1) / kPieceRows; }

template <class Body>
void parallel_pieces(int64_t rows, const Body& body) {
  parallel_for(0, pieces_of(rows), 1, [&](int64_t first, int64_t last) {
    for (int64_t piece = first; piece < last; ++piece)
      body(piece, piece * kPieceRows, std::min(rows, (piece + 1) * kPieceRows));
  });
}

}  // namespace mega::ops
