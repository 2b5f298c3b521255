// Sequences of which every process of a run has a piece.
//
// While a guard is in place, the sequences that modules read on this thread are pieces of longer ones. Most
// layers see one position or one chunk at a time and need not know: pieces are whole chunks. Those that see
// farther ask for what other processes have: the moving average, full attention, and pooling. All these
// functions are differentiable, and every process calls them in the same order, forward and backward: a
// gradient belongs to the sum of the losses of all processes.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/ops/torch.h"

namespace mega::nn {

// Communication between the processes that share sequences.
struct Exchange {
  virtual ~Exchange() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // A tensor for each process, and one from each, in the order of ranks: contiguous, of the sizes that the
  // other side expects; an empty one is not sent.
  virtual void exchange(const std::vector<torch::Tensor>& sent,
                        const std::vector<torch::Tensor>& received) = 0;
};

// Positions begin .. end - 1 of a sequence.
struct Span {
  int64_t begin = 0, end = 0;
  int64_t length() const { return end - begin; }
};

class SequencePieces {
 public:
  // Nearly equal pieces of sequences of `length` positions, whole multiples of `unit` but for the last. A
  // short sequence has none for the last processes. The exchange must outlive it, and it must outlive the
  // backward pass.
  SequencePieces(Exchange& exchange, int64_t length, int64_t unit);

  int64_t length() const { return pieces_.back().end; }  // L, of all pieces together
  const std::vector<Span>& all() const { return pieces_; }
  size_t rank() const { return static_cast<size_t>(exchange_.rank()); }
  const Span& own() const { return pieces_[rank()]; }
  // What this process reads: its piece; without one, the last position, as a stand-in that is all padding.
  Span read() const;

  // x, the same shape in each process -> (processes, ...).
  torch::Tensor of_each(const torch::Tensor& x) const;
  // x (B, l, ...), what is read -> (B, L, ...).
  torch::Tensor whole(const torch::Tensor& x) const;
  // Up to so many positions before the own piece, or after it: (B, l, ...) -> (B, at most `count`, ...).
  torch::Tensor before(const torch::Tensor& x, int64_t count) const;
  torch::Tensor after(const torch::Tensor& x, int64_t count) const;

 private:
  Exchange& exchange_;
  std::vector<Span> pieces_;
};

// The pieces that modules on this thread read; null: whole sequences.
const SequencePieces* sequence_pieces();

class SequencePiecesGuard {
 public:
  explicit SequencePiecesGuard(const SequencePieces* pieces);
  ~SequencePiecesGuard();
  SequencePiecesGuard(const SequencePiecesGuard&) = delete;
  SequencePiecesGuard& operator=(const SequencePiecesGuard&) = delete;

 private:
  const SequencePieces* previous_;
};

}  // namespace mega::nn
