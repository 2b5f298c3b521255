// Batch normalisation: fused against reference, gradients of the reference against finite differences, long
// batches.
#include "mega/ops/batch_norm.h"

#include <gtest/gtest.h>

#include "tests/compare.h"
#include "tests/gradcheck.h"

namespace mega::ops {
namespace {

using mega::testing::Tensors;
using torch::Tensor;

Tensor normalize(const Tensors& in) {
  BatchStatistics statistics;
  return batch_norm(in[0], in[1], in[2], 1e-5, &statistics);
}

TEST(BatchNorm, FormsAgree) {
  torch::manual_seed(1);
  for (const int64_t width : {1, 2, 7, 16, 33, 80}) {
    for (const int64_t length : {2, 5, 400}) {
      SCOPED_TRACE(::testing::Message() << "D=" << width << " L=" << length);
      const Tensor x = torch::randn({2, length, width}) * 2 + 1;
      mega::testing::compare_forms(normalize, {x, torch::randn({width}), torch::randn({width})});
      mega::testing::compare_forms(normalize, {x, Tensor(), Tensor()});
    }
  }
}

TEST(BatchNorm, GradientsOfTheReference) {
  torch::manual_seed(2);
  const auto options = torch::TensorOptions(torch::kFloat64);
  Tensors in = {torch::randn({2, 3, 4}, options).requires_grad_(),
                torch::randn({4}, options).requires_grad_(), torch::randn({4}, options).requires_grad_()};
  check_gradients([&] { return Tensors{normalize(in)}; }, in);
}

TEST(BatchNorm, ReturnsItsStatistics) {
  torch::manual_seed(3);
  const Tensor x = torch::randn({3, 50, 5}) * 2 + 1, rows = x.view({150, 5}).to(torch::kFloat64);
  for (const Form form : {Form::reference, Form::fused}) {
    const FormGuard guard(form);
    BatchStatistics statistics;
    batch_norm(x, {}, {}, 1e-5, &statistics);
    mega::testing::expect_close(statistics.mean, rows.mean(0), 1e-12, "mean");
    mega::testing::expect_close(statistics.variance, rows.var(0, false), 1e-12, "variance");
  }
}

// libtorch's own sums (M, D) in single precision, which is wrong in the fourth digit here.
TEST(BatchNorm, LongBatchKeepsPrecision) {
  torch::manual_seed(4);
  const Tensor x = torch::randn({200000, 8}) + 3, gradient = torch::randn({1, 8}).expand_as(x);
  const auto evaluate = [&](torch::ScalarType type) {
    const Tensor leaf = x.to(type).clone().requires_grad_();
    const Tensor y = normalize({leaf, Tensor(), Tensor()});
    y.backward((gradient * x).to(type));
    return std::pair{y.detach(), leaf.grad()};
  };
  const auto [value, slope] = evaluate(torch::kFloat32);
  const auto [exact_value, exact_slope] = evaluate(torch::kFloat64);
  mega::testing::expect_close(value, exact_value, 2e-7, "value");
  mega::testing::expect_close(slope, exact_slope, 2e-6, "gradient", gradient.abs().max().item<double>());
}

// Constant channels, and a mean much larger than the standard deviation.
TEST(BatchNorm, ConstantAndOffsetChannels) {
  torch::manual_seed(5);
  Tensor x = torch::randn({64, 3});
  x.select(1, 0).fill_(7.0);
  x.select(1, 1).add_(1000.0);
  for (const Form form : {Form::reference, Form::fused}) {
    const FormGuard guard(form);
    const Tensor y = normalize({x, Tensor(), Tensor()});
    EXPECT_EQ(y.select(1, 0).abs().max().item<float>(), 0.0f);
    const Tensor offset = x.select(1, 1).to(torch::kFloat64);
    mega::testing::expect_close(
        y.select(1, 1), (offset - offset.mean()) / torch::sqrt(offset.var(false) + 1e-5), 1e-6, "offset");
  }
}

}  // namespace
}  // namespace mega::ops
