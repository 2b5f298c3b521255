// Linear systems: kernels equal recurrences, streams equal whole sequences, gradients by finite differences.
#include "mega/ops/state_space.h"

#include <gtest/gtest.h>

#include "mega/ops/cauchy.h"
#include "mega/ops/form.h"
#include "mega/ops/long_convolution.h"
#include "tests/base/helpers.h"
#include "tests/compare.h"
#include "tests/gradcheck.h"

namespace mega::ops {
namespace {

using mega::testing::contains;
using mega::testing::error_of;
using mega::testing::expect_close;
using mega::testing::Tensors;
using torch::Tensor;

torch::TensorOptions wide() { return torch::TensorOptions(torch::kFloat64); }

DiagonalSystem random_diagonal(int64_t width, int64_t n, const torch::TensorOptions& options) {
  return {-torch::rand({width, n}, options) * 0.3 - 0.01, torch::randn({width, n}, options),
          torch::randn({width, n, 2}, options), torch::randn({width, n, 2}, options)};
}

// The recurrence, one step after the other, in complex numbers.
Tensor by_steps(const DiagonalSystem& system, const Tensor& x) {
  const Tensor q = torch::polar(system.decay.exp(), system.phase), b = torch::view_as_complex(system.input),
               c = torch::view_as_complex(system.output);
  Tensor h = torch::zeros_like(q).unsqueeze(0);
  Tensors y;
  for (int64_t t = 0; t < x.size(1); ++t) {
    h = q * h + b * x.select(1, t).unsqueeze(-1);
    y.push_back(torch::real((c * h).sum(-1)));
  }
  return torch::stack(y, 1);
}

TEST(DiagonalSystem, KernelAndStreamEqualTheRecurrence) {
  torch::manual_seed(1);
  for (const int64_t length : {1, 2, 7, 65, 200}) {
    SCOPED_TRACE(length);
    const DiagonalSystem system = random_diagonal(3, 4, wide());
    const Tensor x = torch::randn({2, length, 3}, wide()), expected = by_steps(system, x);
    expect_close(long_convolution(x, diagonal_kernel(system, length), {}, {}), expected, 1e-10, "kernel");
    Tensor state;
    expect_close(carry(system, x, state), expected, 1e-10, "one segment");
    {
      const torch::NoGradGuard no_gradients;
      Tensor other;
      expect_close(carry(system, x, other), expected, 1e-10, "without gradients");
    }
    Tensor after;
    Tensors pieces;
    for (int64_t at = 0, size = 1; at < length; at += size, size = 2 * size + 1)
      pieces.push_back(carry(system, x.narrow(1, at, std::min(size, length - at)), after));
    expect_close(torch::cat(pieces, 1), expected, 1e-10, "segments");
    expect_close(after, state, 1e-10, "state");
  }
}

// Also over pieces side by side with a rest.
TEST(DiagonalSystem, Gradients) {
  torch::manual_seed(2);
  for (const int64_t length : {5, 140}) {
    const int64_t width = length < 10 ? 2 : 1, n = width + 1;
    DiagonalSystem system = random_diagonal(width, n, wide());
    Tensors in = {system.decay,
                  system.phase,
                  system.input,
                  system.output,
                  torch::randn({2, length, width}, wide()),
                  torch::randn({2, width, 2 * n}, wide())};
    for (Tensor& t : in) t.requires_grad_();
    check_gradients(
        [&] {
          Tensor state = in[5];
          const Tensor y = carry(system, in[4], state);
          return Tensors{y, state, diagonal_kernel(system, 7)};
        },
        in);
  }
}

TEST(DiagonalSystem, HasAKernelOfEachOutput) {
  torch::manual_seed(8);
  DiagonalSystem system = random_diagonal(3, 4, wide());
  const Tensor one = diagonal_kernel(system, 30);
  system.output = torch::stack({system.output, -3 * system.output});
  expect_close(diagonal_kernel(system, 30), torch::stack({one, -3 * one}), 1e-12, "kernels");
}

TEST(DiagonalSystem, RefusesAStateOfAnotherShape) {
  const DiagonalSystem system = random_diagonal(3, 4, torch::TensorOptions());
  Tensor state = torch::zeros({2, 3, 7});
  EXPECT_PRED2(contains, error_of([&] {
                 carry(system, torch::zeros({2, 5, 3}), state);
               }),
               "must be (2, 3, 8)");
}

LowRankSystem random_low_rank(int64_t width, int64_t n, int64_t outputs,
                              const torch::TensorOptions& options) {
  const Tensor p = torch::randn({width, n, 2}, options) * 0.5;
  const Tensor q = torch::stack({p.select(-1, 0), -p.select(-1, 1)}, -1);
  return {torch::stack({-torch::rand({width, n}, options) - 0.3, torch::randn({width, n}, options) * 3}, -1),
          p,
          q,
          torch::randn({width, n, 2}, options),
          torch::randn({outputs, width, n, 2}, options),
          torch::rand({width}, options) * 0.2 + 0.02};
}

// S4's kernel by its generating function equals c A^l b, for even and odd lengths.
TEST(LowRankSystem, KernelEqualsTheRecurrence) {
  torch::manual_seed(3);
  for (const int64_t length : {1, 2, 5, 16, 33, 100, 200}) {
    SCOPED_TRACE(length);
    LowRankSystem system = random_low_rank(3, 4, 2, wide());
    DenseSystem dense = discretized(system);
    Tensors expected;
    std::vector<Tensor> stored;
    for (int64_t k = 0; k < 2; ++k) {
      dense.output = real_rows(system.output[k]);
      expected.push_back(dense_kernel(dense, length));
      const Tensor cut =
          dense.output -
          torch::matmul(dense.output.unsqueeze(1), torch::matrix_power(dense.transition, length)).squeeze(1);
      stored.push_back(complex_rows(cut));
    }
    const Tensor all = torch::stack(expected);
    system.output = torch::stack(stored);
    expect_close(low_rank_kernel(system, length), all, 1e-9, "generating function");

    dense.output = real_rows(random_low_rank(3, 4, 1, wide()).output[0]);
    const Tensor x = torch::randn({2, length, 3}, wide());
    const Tensor whole = long_convolution(x, dense_kernel(dense, length), {}, {});
    Tensor state, steps;
    expect_close(carry(dense, x, state), whole, 1e-9, "one segment");
    {
      const torch::NoGradGuard no_gradients;
      Tensor other;
      expect_close(carry(dense, x, other), whole, 1e-9, "without gradients");
    }
    Tensors single;
    for (int64_t t = 0; t < length; ++t) single.push_back(carry(dense, x.narrow(1, t, 1), steps));
    expect_close(torch::cat(single, 1), whole, 1e-9, "steps");
    expect_close(steps, state, 1e-9, "state");
  }
}

TEST(DenseSystem, GradientsOfAStream) {
  torch::manual_seed(7);
  const Tensor a = torch::randn({1, 2, 2}, wide()) * 0.4;
  DenseSystem system{a, torch::randn({1, 2}, wide()), torch::randn({1, 2}, wide())};
  Tensors in = {system.transition, system.input, system.output, torch::randn({2, 140, 1}, wide()),
                torch::randn({2, 1, 2}, wide())};
  for (Tensor& t : in) t.requires_grad_();
  check_gradients(
      [&] {
        Tensor state = in[4];
        const Tensor y = carry(system, in[3], state);
        return Tensors{y, state};
      },
      in);
}

TEST(LowRankSystem, Gradients) {
  torch::manual_seed(4);
  LowRankSystem system = random_low_rank(2, 2, 2, wide());
  Tensors in = {system.lambda, system.p, system.q, system.input, system.output, system.step};
  for (Tensor& t : in) t.requires_grad_();
  for (const int64_t length : {6, 7})
    check_gradients([&] { return Tensors{low_rank_kernel(system, length)}; }, in);
}

TEST(Cauchy, AreTheSumsOfTheirFractions) {
  torch::manual_seed(5);
  const Tensor v = torch::randn({3, 2, 4, 2}, wide()), y = torch::randn({9}, wide());
  const Tensor p = torch::stack({-torch::rand({3, 4}, wide()) - 0.1, torch::randn({3, 4}, wide())}, -1);
  const Tensor z = torch::complex(torch::zeros_like(y), y), w = torch::view_as_complex(v).unsqueeze(-1),
               pole = torch::view_as_complex(p).unsqueeze(1).unsqueeze(-1);
  const Tensor expected = (w / (z - pole) + w.conj() / (z - pole.conj())).sum(2);
  const Tensor actual = cauchy_sums(v, p, y);
  expect_close(actual[0], torch::real(expected), 1e-12, "real");
  expect_close(actual[1], torch::imag(expected), 1e-12, "imaginary");
}

// S4 has four sums, or six if it is bidirectional; the kernel takes some together.
TEST(Cauchy, FormsAgree) {
  torch::manual_seed(6);
  struct Sizes {
    int64_t nodes, pairs, sums;
  };
  for (const Sizes size : {Sizes{1, 5, 4}, Sizes{7, 1, 4}, Sizes{16, 5, 6}, Sizes{33, 5, 4}, Sizes{130, 5, 6},
                           Sizes{20, 3, 1}, Sizes{20, 3, 13}}) {
    SCOPED_TRACE(::testing::Message()
                 << size.nodes << " nodes, " << size.pairs << " pairs, " << size.sums << " sums");
    const Tensor y = torch::randn({size.nodes}) * 3;
    const Tensor p = torch::stack({-torch::rand({3, size.pairs}) - 0.3, torch::randn({3, size.pairs})}, -1);
    mega::testing::compare_forms(
        [&](const Tensors& in) { return cauchy_sums(in[0], in[1], y.to(in[0].scalar_type())); },
        {torch::randn({3, size.sums, size.pairs, 2}), p});
  }
}

}  // namespace
}  // namespace mega::ops
