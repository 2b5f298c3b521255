// Root-mean-square normalisation: fused against reference, gradients of the reference against finite
// differences.
#include "mega/ops/norm.h"

#include <gtest/gtest.h>

#include "tests/compare.h"
#include "tests/gradcheck.h"

namespace mega::ops {
namespace {

using mega::testing::Tensors;
using torch::Tensor;

// The norm of a single channel has almost no gradient, only rounding noise.
constexpr double kFloor = 0.1;

Tensor normalize(const Tensors& in) { return rms_norm(in[0], in[1], 1e-5); }

TEST(RmsNorm, FormsAgree) {
  torch::manual_seed(1);
  for (const int64_t width : {1, 2, 7, 16, 33, 80}) {
    for (const int64_t length : {1, 5, 400}) {
      SCOPED_TRACE(::testing::Message() << "D=" << width << " L=" << length);
      const Tensor x = torch::randn({2, length, width});
      mega::testing::compare_forms(normalize, {x, torch::randn({width})}, kFloor);
      mega::testing::compare_forms(normalize, {x, torch::randn({1})}, kFloor);
      mega::testing::compare_forms(normalize, {x, Tensor()}, kFloor);
    }
  }
}

TEST(RmsNorm, GradientsOfTheReference) {
  torch::manual_seed(2);
  for (const int64_t weights : {1, 4}) {
    const auto options = torch::TensorOptions(torch::kFloat64);
    Tensors in = {torch::randn({2, 3, 4}, options).requires_grad_(),
                  torch::randn({weights}, options).requires_grad_()};
    check_gradients([&] { return Tensors{normalize(in)}; }, in);
  }
}

// Rows of zeros (padding) cause no division by zero.
TEST(RmsNorm, Zeros) {
  for (const Form form : {Form::reference, Form::fused}) {
    const FormGuard guard(form);
    Tensor x = torch::zeros({1, 2, 5}).requires_grad_();
    const Tensor y = normalize({x, torch::ones({5})});
    y.sum().backward();
    EXPECT_EQ(y.abs().max().item<float>(), 0.0f);
    EXPECT_TRUE(x.grad().isfinite().all().item<bool>());
  }
}

}  // namespace
}  // namespace mega::ops
