// Reformer (Kitaev et al. 2020): attention among positions that a hash puts into the same or the next bucket.
// Queries are keys too.
#pragma once

#include "mega/ops/torch.h"

namespace mega::baselines {

// The bucket of each position of qk (..., L, E) in each round: argmax of [x R ; -x R] for the rotations R (E,
// rounds, buckets / 2): (..., rounds, L).
torch::Tensor hash_buckets(const torch::Tensor& qk, const torch::Tensor& rotations);

// Random rotations (E, rounds, buckets / 2), always the same.
torch::Tensor draw_rotations(int64_t width, int64_t rounds, int64_t buckets, const torch::Tensor& like);

struct LshSettings {
  int64_t bucket_size = 64;
  bool causal = false;
  bool count_duplicates = true;  // a key that several rounds show counts several times
};

// As in the article: qk and v (N, L, E), L a multiple of twice the bucket size, rotations (E, rounds, L /
// bucket size / 2), mask (N, L) bool with true = padding, or undefined -> (N, L, E). A position attends to
// itself only if it sees nothing else.
torch::Tensor lsh_attention(const torch::Tensor& qk, const torch::Tensor& v, const torch::Tensor& rotations,
                            const torch::Tensor& mask, const LshSettings& settings);

// As the Long Range Arena ran it: qk, v (B, L, D) of H heads, L a multiple of the number of buckets,
// rotations (E, 1, buckets / 2). Scores are multiplied by sqrt(E), and a position sees itself.
torch::Tensor arena_lsh_attention(const torch::Tensor& qk, const torch::Tensor& v,
                                  const torch::Tensor& rotations, const torch::Tensor& mask, int64_t heads);

}  // namespace mega::baselines
