#include "mega/ops/matmul.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "mega/ops/precision.h"
#include "mega/ops/runtime.h"
#include "tests/compare.h"

namespace mega::ops {
namespace {

using mega::testing::distance;
using torch::Tensor;

// A matrix of one row whose stride is not its length: libtorch calls it contiguous.
Tensor odd_row(int64_t columns) {
  const Tensor row = torch::randn({columns, 1}).t();
  EXPECT_TRUE(row.is_contiguous() && row.stride(0) == 1);
  return row;
}

TEST(Matmul, TakesOneRowOfAnyStride) {
  torch::manual_seed(1);
  const Tensor many = torch::randn({5, 16}), row = odd_row(16), column = torch::randn({16, 1});
  const Tensor of_rows = torch::empty({5, 1}), of_row = odd_row(16);
  matmul({many}, {row, true}, of_rows);
  EXPECT_LT(distance(of_rows, torch::matmul(many, row.t())), 1e-6);
  matmul({torch::ones({1, 1})}, {row}, of_row);
  EXPECT_LT(distance(of_row, row), 1e-6);
  const Tensor one = torch::empty({1, 1});
  matmul({row}, {column}, one);
  EXPECT_LT(distance(one, torch::matmul(row, column)), 1e-6);
}

TEST(Matmul, AddsBiasAndWhatWasThere) {
  torch::manual_seed(2);
  const Tensor a = torch::randn({7, 16}), b = torch::randn({16, 9}), bias = torch::randn({9}),
               before = torch::randn({7, 9});
  const Tensor out = before.clone();
  matmul({a}, {b}, out, {.accumulate = true, .bias = bias.data_ptr<float>()});
  EXPECT_LT(distance(out, before + bias + torch::matmul(a, b)), 1e-6);
}

// Rows of a wider matrix, which oneDNN multiplies otherwise, and more of them than are done at once.
TEST(Matmul, InBf16TakesManyRowsOfAWiderMatrix) {
  if (available_precision(Precision::bf16) != Precision::bf16) GTEST_SKIP() << "no bf16 arithmetic here";
  torch::manual_seed(3);
  const auto narrow = [](const Tensor& x) { return x.to(torch::kBFloat16); };
  const Tensor wide = narrow(torch::randn({1300, 96})), b = narrow(torch::randn({32, 48})),
               bias = torch::randn({48});
  const Tensor from = wide.narrow(1, 64, 32), to = narrow(torch::randn({1300, 80})).narrow(1, 16, 48);
  for (const bool accumulate : {false, true}) {
    const Tensor before = to.to(torch::kFloat32).clone();
    matmul({from}, {b}, to, {accumulate, bias.data_ptr<float>()});
    Tensor expected = torch::matmul(from.to(torch::kFloat32), b.to(torch::kFloat32)) + bias;
    if (accumulate) expected += before;
    const Tensor error = (to.to(torch::kFloat32) - expected).abs();
    EXPECT_LE((error - expected.abs() * std::ldexp(1.0, -8)).max().item<float>(), 1e-3F);
  }
}

TEST(Matmul, InBf16TakesManyRowsOfATranspose) {
  if (available_precision(Precision::bf16) != Precision::bf16) GTEST_SKIP() << "no bf16 arithmetic here";
  torch::manual_seed(4);
  const auto narrow = [](const Tensor& x) { return x.to(torch::kBFloat16); };
  const Tensor wide = narrow(torch::randn({32, 1400})), b = narrow(torch::randn({32, 48}));
  const Tensor from = wide.narrow(1, 64, 1300), to = narrow(torch::zeros({1300, 80})).narrow(1, 16, 48);
  matmul({from, true}, {b}, to);
  const Tensor expected = torch::matmul(from.t().to(torch::kFloat32), b.to(torch::kFloat32));
  const Tensor error = (to.to(torch::kFloat32) - expected).abs();
  EXPECT_LE((error - expected.abs() * std::ldexp(1.0, -8)).max().item<float>(), 1e-3F);
}

// Gradients of weights: threads share a long depth, and add up their sums. At some of these sizes a part
// needs more scratch memory than the whole.
TEST(Matmul, InBf16ThreadsShareALongDepth) {
  if (available_precision(Precision::bf16) != Precision::bf16) GTEST_SKIP() << "no bf16 arithmetic here";
  torch::manual_seed(5);
  const int before = threads();
  const auto narrow = [](const Tensor& x) { return x.to(torch::kBFloat16); };
  for (const int count : {1, 2, 3, 5}) {
    set_threads(count);
    for (const auto& [rows, columns, depth] :
         {std::array<int64_t, 3>{512, 512, 1184}, {100, 320, 861}, {256, 128, 4100}, {8, 8, 40'000}}) {
      const Tensor a = narrow(torch::randn({depth, rows})), b = narrow(torch::randn({depth, columns})),
                   bias = torch::randn({columns}), held = torch::randn({rows, columns}), out = held.clone();
      const Tensor product = torch::matmul(a.t().to(torch::kFloat64), b.to(torch::kFloat64));
      const double bound = 1e-6 * static_cast<double>(depth);
      matmul({a, true}, {b}, out);
      EXPECT_LT((out - product).abs().max().item<double>(), bound) << count << " threads, depth " << depth;
      out.copy_(held);
      matmul({a, true}, {b}, out, {true, bias.data_ptr<float>()});
      EXPECT_LT((out - held - bias - product).abs().max().item<double>(), bound) << count << " threads";
    }
  }
  set_threads(before);
}

TEST(Matmul, OfDepthZeroIsZero) {
  const Tensor out = torch::ones({3, 2});
  matmul({torch::empty({3, 0})}, {torch::empty({0, 2})}, out);
  EXPECT_EQ(out.abs().max().item<float>(), 0.0f);
}

}  // namespace
}  // namespace mega::ops
