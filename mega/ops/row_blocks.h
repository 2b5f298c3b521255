// Several operations on some rows at a time, so that what one makes of them is in the cache for the next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mega/ops/parallel.h"
#include "mega/ops/torch.h"

namespace mega::ops {

// Some rows, of a part that one thread works on.
struct RowBlock {
  int64_t part, begin, end;
  bool first;  // of its part

  int64_t rows() const { return end - begin; }
  // These rows of a matrix.
  torch::Tensor of(const torch::Tensor& x) const { return x.narrow(0, begin, rows()); }
};

// parallel_rows (mega/ops/parallel.h) of a block.
template <class Body>
void parallel_rows(const RowBlock& block, int64_t columns, const Body& body) {
  parallel_rows(block.rows(), columns,
                [&](int64_t begin, int64_t end) { body(block.begin + begin, block.begin + end); });
}

// Parts of the rows for threads to work on side by side, each in blocks, one after the other. Weights that
// are too large for the caches would have to be read anew for each block: then all rows are one block, and
// the operations on it use all threads.
class RowBlocks {
 public:
  RowBlocks(int64_t rows, int64_t weights)
      : rows_(rows),
        parts_(weights > kMostWeights ? 1 : std::clamp<int64_t>(rows / kLeastRows, 1, at::get_num_threads())),
        size_(weights > kMostWeights ? std::max<int64_t>(rows, 1) : kRows) {}

  int64_t parts() const { return parts_; }

  // Calls body(block) for each.
  template <class Body>
  void run(const Body& body) const {
    parallel_for(0, parts_, 1, [&](int64_t first, int64_t last) {
      for (int64_t part = first; part < last; ++part) {
        const int64_t from = rows_ * part / parts_, to = rows_ * (part + 1) / parts_;
        for (int64_t begin = from; begin < to; begin += size_)
          body(RowBlock{part, begin, std::min(begin + size_, to), begin == from});
      }
    });
  }

 private:
  static constexpr int64_t kRows = 512, kLeastRows = 64, kMostWeights = 1 << 17;
  int64_t rows_, parts_, size_;
};

// What blocks add to, such as the gradient of a weight: a float32 sum for each part, which are added up in
// order.
class PartialSums {
 public:
  PartialSums(const RowBlocks& blocks, const std::vector<int64_t>& sizes)
      : first_(torch::zeros(sizes, torch::kFloat32)) {
    for (int64_t part = 1; part < blocks.parts(); ++part) others_.push_back(torch::zeros_like(first_));
  }

  const torch::Tensor& of(const RowBlock& block) const {
    return block.part == 0 ? first_ : others_[static_cast<size_t>(block.part - 1)];
  }
  torch::Tensor total() const {
    for (const torch::Tensor& other : others_) first_.add_(other);
    return first_;
  }

 private:
  torch::Tensor first_;
  std::vector<torch::Tensor> others_;
};

}  // namespace mega::ops
