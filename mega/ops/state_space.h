// Linear systems with a complex state, one for each channel: as kernels of a convolution, and as recurrences.
//
// A last dimension of 2 is (real, imaginary). Of states that come in conjugate pairs one each is kept;
// whoever makes a system of them counts it twice.
#pragma once

#include <cstdint>

#include "mega/config/models/s4_options.h"
#include "mega/ops/torch.h"

namespace mega::ops {

// h_t = q h_{t-1} + b x_t, y_t = Re sum_n c_n h_{t,n}, with q = exp(decay + i phase).
struct DiagonalSystem {
  torch::Tensor decay, phase;   // (D, N)
  torch::Tensor input, output;  // b and c, (D, N, 2)
};

// x' = lambda x + b u in steps of length `step` (D, 1). With inputs held for a step, q = exp(step lambda) and
// b (q - 1) / lambda; by the bilinear rule q = (1 + step lambda / 2) / (1 - step lambda / 2) and step b / (1
// - step lambda / 2). lambda, input and output (D, N, 2).
DiagonalSystem discretized(const torch::Tensor& lambda, const torch::Tensor& input,
                           const torch::Tensor& output, const torch::Tensor& step, Discretization rule);

// Its kernel, Re sum_n c b q^l for l = 0, 1, ...: (D, length); (K, D, length) of K outputs (K, D, N, 2).
torch::Tensor diagonal_kernel(const DiagonalSystem& system, int64_t length);

// A system whose state is real, h_t = A h_{t-1} + b x_t, y_t = c h_t.
struct DenseSystem {
  torch::Tensor transition;     // A, (D, N, N)
  torch::Tensor input, output;  // b and c, (D, N)
};

// c A^l b: (D, length).
torch::Tensor dense_kernel(const DenseSystem& system, int64_t length);

// The response y (B, L, D) to x (B, L, D), which continues the stream of a state (B, D, 2 N) of (real,
// imaginary) pairs, or (B, D, N) of a dense system; undefined: it begins one. The state is replaced by that
// after x. Gradients flow through it. Padding has to be 0 in x.
torch::Tensor carry(const DiagonalSystem& system, const torch::Tensor& x, torch::Tensor& state);
torch::Tensor carry(const DenseSystem& system, const torch::Tensor& x, torch::Tensor& state);

// S4's system: x' = (diag(lambda) - p q^T) x + b u and y = c x over all states, kept ones and their
// conjugates, in steps by the bilinear rule. Each (D, N, 2), but `output` (K, D, N, 2) of K outputs, and step
// (D).
struct LowRankSystem {
  torch::Tensor lambda, p, q, input, output, step;
};

// Its kernels (K, D, length) if `output` is that of its generating function at this length, c (I - A^length).
torch::Tensor low_rank_kernel(const LowRankSystem& system, int64_t length);

// The same in steps, with a real state of 2 N: real parts, then imaginary parts. Its output is zero.
DenseSystem discretized(const LowRankSystem& system);

// Rows c (.., D, N, 2) of complex numbers as rows of real ones (.., D, 2 N), so that their product with a
// state is twice the real part of c h; and back.
torch::Tensor real_rows(const torch::Tensor& c);
torch::Tensor complex_rows(const torch::Tensor& rows);

}  // namespace mega::ops
