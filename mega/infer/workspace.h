// Temporary memory of a forward pass, reused from pass to pass.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "mega/base/aligned.h"
#include "mega/infer/thread_pool.h"

namespace mega::infer {

// One buffer per purpose: data that is in use at the same time needs different purposes.
class Workspace {
 public:
  enum Purpose {
    kInput,     // embeddings, then the activations between blocks
    kNormed,    // normalised input of a sublayer
    kAveraged,  // EMA output
    kMixed,     // the mixed projection
    kValues,
    kQueries,
    kKeys,
    kAttended,
    kCandidate,  // attention's part of the candidate; output of the feed-forward
    kHidden,     // hidden layer of the feed-forward
    kOpenKeys,   // keys of an open chunk, contiguous
    kOpenValues,
    kPartials,       // partial results of attention to single pages
    kWeights,        // attention weights of the last cross-attention
    kNarrow,         // activations as int8 or bf16
    kScales,         // of int8
    kNarrowQueries,  // of attention in bf16 or int8
    kNarrowKeys,
    kNarrowValues,
    kAttentionScales,  // of attention in int8
    kEmbedded,
    kReduced,  // projected features for a band of the adaptive softmax
    kLogits,
    kScratch,  // of a kernel, see scratch_of_thread
    kPurposes
  };

  // At least `count` floats, uninitialised.
  float* floats(Purpose purpose, int64_t count) {
    Piece& piece = pieces_[purpose];
    if (piece.size < count) {
      piece.size = 0;
      piece.memory.reset();  // first, so that old and new memory never coexist
      piece.memory.reset(static_cast<float*>(allocate_aligned(static_cast<size_t>(count) * sizeof(float))));
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
    void operator()(float* memory) const { std::free(memory); }
  };
  struct Piece {
    std::unique_ptr<float, Free> memory;
    int64_t size = 0;
  };
  std::array<Piece, kPurposes> pieces_;
};

// Memory of the calling thread for a kernel, kept from call to call: the tasks of a prompt would otherwise
// each get fresh pages.
inline float* scratch_of_thread(int64_t count) {
  static thread_local Workspace memory;
  return memory.floats(Workspace::kScratch, count);
}

// Resources of a forward pass.
struct Run {
  ThreadPool& pool;
  Workspace& work;

  // Calls body(begin, end) on ranges of rows large enough to be worth a thread.
  template <class Body>
  void rows(int64_t rows, int64_t columns, const Body& body) const {
    constexpr int64_t kWorthwhile = 2048;  // elements
    pool.run(rows, (kWorthwhile + columns - 1) / columns, body);
  }
};

}  // namespace mega::infer
