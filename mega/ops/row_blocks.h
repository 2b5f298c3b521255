// Several operations on some rows at a time, so that what one makes of them is in the cache for the next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mega/ops/parallel.h"
#include "mega/ops/torch.h"

namespace mega::ops {

// Some rows of a part.
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

// A part of the rows for each thread, which goes through it in blocks. Weights that are too large for the
// caches would have to be read anew for each block: then, and where there are too few rows, all rows are one
// block, and the operations on it use all threads.
class RowBlocks {
 public:
  // `weights`: numbers in the largest weight that rows are multiplied by.
  RowBlocks(int64_t rows, int64_t weights) : rows_(rows), size_(std::max<int64_t>(rows, 1)) {
    const int64_t threads = at::get_num_threads();
    if (weights > kMostWeights || rows < threads * kRows) return;
    parts_ = threads;
    size_ = kRows;
  }

  int64_t parts() const { return parts_; }

  // Calls body(block) for each.
  template <class Body>
  void run(const Body& body) const {
    if (parts_ == 1) return run_part(0, body);
    parallel_for(0, parts_, 1, [&](int64_t first, int64_t last) {
      for (int64_t part = first; part < last; ++part) run_part(part, body);
    });
  }

 private:
  template <class Body>
  void run_part(int64_t part, const Body& body) const {
    const int64_t from = rows_ * part / parts_, to = rows_ * (part + 1) / parts_;
    for (int64_t begin = from; begin < to; begin += size_)
      body(RowBlock{part, begin, std::min(begin + size_, to), begin == from});
  }

  static constexpr int64_t kRows = 512, kMostWeights = 1 << 17;
  int64_t rows_, parts_ = 1, size_;
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
  // Once: the sums of the parts are given up for it.
  torch::Tensor total() {
    for (const torch::Tensor& other : others_) first_.add_(other);
    others_.clear();
    return first_;
  }

 private:
  torch::Tensor first_;
  std::vector<torch::Tensor> others_;
};

}  // namespace mega::ops
