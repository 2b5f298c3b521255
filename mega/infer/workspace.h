// Memory that a pass through a model needs for a moment, kept from pass to pass.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "mega/base/aligned.h"
#include "mega/infer/thread_pool.h"

namespace mega::infer {

// One piece of memory for each purpose: what is in use at the same time must not share one.
class Workspace {
 public:
  enum Purpose {
    kInput,     // embeddings, then what goes from block to block
    kNormed,    // of a sublayer's input
    kAveraged,  // what the moving average gives
    kMixed,     // the mixed projection
    kValues,
    kQueries,
    kKeys,
    kAttended,
    kCandidate,  // the part of it that attention gives; the feed-forward's output
    kHidden,     // inside the feed-forward
    kOpenKeys,   // of an open chunk, in one piece
    kOpenValues,
    kPartials,  // of attention to single pages
    kQuantized,
    kScales,
    kEmbedded,
    kReduced,  // features for a band of the output
    kLogits,
    kPurposes
  };

  // At least so many floats, whose contents are undefined.
  float* floats(Purpose purpose, int64_t count) {
    Piece& piece = pieces_[purpose];
    if (piece.size < count) {
      piece.memory.reset();  // first, so that never both are there
      piece.memory.reset(static_cast<float*>(
          ::operator new(static_cast<size_t>(count) * sizeof(float), std::align_val_t(kCacheLine))));
      piece.size = count;
    }
    return piece.memory.get();
  }

  int64_t bytes() const {
    int64_t sum = 0;
    for (const Piece& piece : pieces_) sum += piece.size * static_cast<int64_t>(sizeof(float));
    return sum;
  }

 private:
  struct Free {
    void operator()(float* memory) const { ::operator delete(memory, std::align_val_t(kCacheLine)); }
  };
  struct Piece {
    std::unique_ptr<float, Free> memory;
    int64_t size = 0;
  };
  std::array<Piece, kPurposes> pieces_;
};

// What a pass works with.
struct Run {
  ThreadPool& pool;
  Workspace& work;

  // Calls body(begin, end) on ranges of rows worth a thread's while.
  template <class Body>
  void rows(int64_t rows, int64_t columns, const Body& body) const {
    constexpr int64_t kWorthwhile = 2048;  // elements
    pool.run(rows, (kWorthwhile + columns - 1) / columns, body);
  }
};

}  // namespace mega::infer
