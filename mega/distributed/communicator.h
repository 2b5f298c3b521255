// What processes of a run do together. Every process calls the same functions in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mega/nn/norm.h"
#include "mega/nn/sequence_pieces.h"
#include "mega/ops/torch.h"

namespace mega::distributed {

// How the numbers of a sum travel. bf16 halves the bytes of float32 and rounds partial sums to 8 bits; every
// process gets the same bits in either case.
enum class Wire { exact, bf16 };

// Numbers that are divided among processes: nearly equal pieces, in the order of ranks.
struct Piece {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};
inline Piece piece_of(int64_t numbers, int rank, int size) {
  return {numbers * rank / size, numbers * (rank + 1) / size};
}

class Communicator : public nn::Communicator, public nn::Exchange {
 public:
  // The sum over all processes, in place; contiguous float32, float64 or int64 on the CPU.
  void all_reduce_sum(torch::Tensor& x) final { sum(x, Wire::exact); }
  virtual void sum(torch::Tensor& x, Wire wire) = 0;
  // The same for this process's piece (piece_of) of the numbers alone, in half the bytes; the others are
  // undefined afterwards.
  virtual void sum_pieces(torch::Tensor& x, Wire wire) = 0;
  // Every process has its piece (piece_of) of the numbers of x, and gets those of the others; contiguous, on
  // the CPU.
  virtual void gather_pieces(torch::Tensor& x) = 0;
  // The bytes of rank 0.
  virtual void broadcast(std::span<std::byte> bytes) = 0;
  // A text of every process, in the order of ranks.
  virtual std::vector<std::string> all_gather(std::string_view own) = 0;

  // So far, of this process.
  virtual int64_t bytes_sent() const = 0;
  virtual double seconds_waited() const = 0;
};

}  // namespace mega::distributed
