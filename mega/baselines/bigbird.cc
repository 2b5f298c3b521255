#include "mega/baselines/bigbird.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <random>
#include <vector>

#include "mega/base/error.h"
#include "mega/base/random.h"
#include "mega/baselines/arena_attention.h"
#include "mega/nn/stack.h"
#include "mega/ops/attention.h"
#include "mega/ops/gathered_attention.h"

namespace mega::baselines {
namespace {

using torch::Tensor;

// Blocks that an inner block sees beside random ones: itself, its neighbours, the first and the last.
constexpr int64_t kFixedBlocks = 5;

// Rows [n block, (n + 1) block) for each number n of `blocks` (..., count); -1 stays: (..., count * block).
Tensor rows_of_blocks(const Tensor& blocks, int64_t block) {
  const Tensor rows = blocks.unsqueeze(-1) * block + torch::arange(block);
  return rows.masked_fill(blocks.unsqueeze(-1) < 0, -1).flatten(-2);
}

// The inner blocks of all heads, and the keys of each, on the CPU.
ops::AttentionGroups inner_groups(const Tensor& random, int64_t block) {
  const int64_t heads = random.size(0), inner = random.size(1), last = inner + 1;
  const Tensor i = torch::arange(1, inner + 1);
  // Blocks 1 and last - 1 have a neighbour that is the first or the last block, which counts once.
  const Tensor fixed = torch::stack({torch::zeros_like(i), (i - 1).masked_fill(i == 1, -1), i,
                                     (i + 1).masked_fill(i == last - 1, -1), torch::full_like(i, last)},
                                    1);
  const Tensor keys = torch::cat({fixed.unsqueeze(0).expand({heads, -1, -1}), random}, 2);
  const Tensor queries = i.view({1, -1, 1}).expand({heads, -1, -1});
  return {rows_of_blocks(queries, block).unsqueeze(0), rows_of_blocks(keys, block).unsqueeze(0)};
}

class BigBirdAttention : public ProjectedAttention {
 public:
  BigBirdAttention(const BigBirdOptions& options, int64_t layer)
      : ProjectedAttention(options.width), options_(options), layer_(layer) {}

 private:
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) override {
    const int64_t length = q.size(1), block = options_.block, rest = length % block;
    // The arena always adds a part of a block, or a whole one, and its positions are seen.
    const int64_t added = options_.arena_padding ? block - rest : rest == 0 ? 0 : block - rest;
    const int64_t blocks = (length + added) / block;
    const double dropout = is_training() ? options_.attention_dropout : 0.0;
    if (blocks < kFixedBlocks + options_.random_blocks) {  // everything is seen
      ops::AttentionSettings settings;
      settings.heads = options_.heads;
      settings.dropout = ops::draw_dropout(dropout, is_training());
      return ops::attention(q, k, v, {}, mask, settings);
    }
    const auto longer = [&](const Tensor& x) { return torch::constant_pad_nd(x, {0, 0, 0, added}); };
    Tensor hidden = mask;
    if (added > 0 && (mask.defined() || !options_.arena_padding)) {
      hidden = mask.defined() ? mask : torch::zeros({q.size(0), length}, torch::kBool);
      hidden = torch::constant_pad_nd(hidden, {0, added}, !options_.arena_padding);
    }
    return bigbird_attention(longer(q), longer(k), longer(v), random_blocks(blocks), hidden, options_.heads,
                             block, dropout)
        .narrow(1, 0, length);
  }

  Tensor random_blocks(int64_t blocks) {
    if (fixed.defined()) return fixed;
    const std::lock_guard<std::mutex> lock(mutex_);
    Tensor& random = random_[blocks];
    if (!random.defined())
      random = draw_random_blocks(layer_, options_.heads, blocks, options_.block, options_.random_blocks);
    return random;
  }

  BigBirdOptions options_;
  int64_t layer_;
  std::map<int64_t, Tensor> random_;  // by number of blocks
  std::mutex mutex_;                  // protects random_
};

}  // namespace

Tensor bigbird_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& random,
                         const Tensor& mask, int64_t heads, int64_t block, double dropout) {
  const int64_t length = q.size(1), blocks = length / block;
  require(length % block == 0 && blocks >= kFixedBlocks && random.dim() == 3 && random.size(0) == heads &&
              random.size(1) == blocks - 2,
          "BigBird: ", length, " positions in blocks of ", block, " need at least ", kFixedBlocks,
          " whole blocks, and random blocks (", heads, ", ", blocks - 2, ", R), not ", random.sizes());
  ops::AttentionSettings outer;
  outer.heads = heads;
  outer.dropout = ops::draw_dropout(dropout, true);
  const Tensor ends = torch::cat({q.narrow(1, 0, block), q.narrow(1, length - block, block)}, 1);
  const Tensor outside = ops::attention(ends, k, v, {}, mask, outer);
  const double scale = 1.0 / std::sqrt(static_cast<double>(q.size(2) / heads));
  const ops::AttentionGroups inner = inner_groups(random, block);
  const Tensor inside =
      ops::gathered_attention(q, k, v, {inner.queries.to(q.device()), inner.keys.to(q.device())}, mask,
                              {heads, scale, ops::draw_dropout(dropout, true)});
  const Tensor y = torch::cat({outside.narrow(1, 0, block), inside.narrow(1, block, length - 2 * block),
                               outside.narrow(1, block, block)},
                              1);
  return nn::zero_padding(y, mask);
}

Tensor draw_random_blocks(int64_t layer, int64_t heads, int64_t blocks, int64_t block, int64_t count) {
  // Positions that random blocks are drawn from; enough of them even where blocks are large.
  const int64_t reach = std::max<int64_t>(1024, (kFixedBlocks + 1 + count) * block);
  const int64_t last = std::min(blocks * block, reach) / block - 1;
  Tensor random = torch::empty({heads, blocks - 2, count}, torch::kInt64);
  std::mt19937_64 generator(
      stream_seed(static_cast<uint64_t>(layer), "bigbird", static_cast<uint64_t>(blocks)));
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 1; i < blocks - 1; ++i) {
      std::vector<int64_t> candidates;
      for (int64_t n = 1; n <= std::min(last, blocks - 2); ++n)
        if (n < i - 1 || n > i + 1) candidates.push_back(n);
      for (int64_t c = 0; c < count; ++c) {
        const size_t left = candidates.size() - static_cast<size_t>(c);
        std::swap(candidates.at(static_cast<size_t>(c)),
                  candidates.at(static_cast<size_t>(c) + generator() % left));
        random[h][i - 1][c] = candidates[static_cast<size_t>(c)];
      }
    }
  return random;
}

std::shared_ptr<ArenaAttention> make_attention(const BigBirdOptions& options, int64_t layer) {
  return std::make_shared<BigBirdAttention>(options, layer);
}

}  // namespace mega::baselines
