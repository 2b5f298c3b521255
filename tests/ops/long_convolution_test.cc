// Long convolutions: both forms against the plain sums, against each other, and gradients by finite
// differences.
#include "mega/ops/long_convolution.h"

#include <gtest/gtest.h>

#include "tests/base/helpers.h"
#include "tests/compare.h"
#include "tests/gradcheck.h"

namespace mega::ops {
namespace {

using mega::testing::contains;
using mega::testing::error_of;
using mega::testing::expect_close;
using mega::testing::kValueTolerance;
using mega::testing::Tensors;
using torch::Tensor;

// The definition, term by term.
Tensor sums(const Tensor& x, const Tensor& past, const Tensor& future) {
  Tensor y = torch::zeros_like(x);
  for (int64_t t = 0; t < x.size(1); ++t)
    for (int64_t s = 0; s < x.size(1); ++s) {
      const int64_t lag = s <= t ? t - s : s - t - 1;
      const Tensor& kernel = s <= t ? past : future;
      if (!kernel.defined() || lag >= kernel.size(1)) continue;
      y.select(1, t) += kernel.select(1, lag) * x.select(1, s);
    }
  return y;
}

Tensor some_mask(int64_t batch, int64_t length) {
  Tensor mask = torch::rand({batch, length}) < 0.3;
  mask.select(0, 0).fill_(false);
  return mask;
}

TEST(LongConvolution, IsTheSumOfItsTerms) {
  torch::manual_seed(1);
  for (const Form form : {Form::reference, Form::fused})
    for (const int64_t length : {1, 2, 3, 9, 16, 31})
      for (const int64_t lags : {int64_t{1}, (length + 1) / 2, length})
        for (const bool ahead : {false, true}) {
          const FormGuard guard(form);
          const Tensor x = torch::randn({3, length, 5}), past = torch::randn({5, lags}),
                       future = ahead ? torch::randn({5, lags}) : Tensor(), mask = some_mask(3, length);
          expect_close(long_convolution(x, past, future, mask),
                       sums(x.masked_fill(mask.unsqueeze(-1), 0.0), past, future), kValueTolerance,
                       "L=" + std::to_string(length));
        }
}

TEST(LongConvolution, FormsAgree) {
  torch::manual_seed(2);
  for (const int64_t width : {1, 16, 21})
    for (const int64_t length : {1, 7, 64, 65, 700})
      for (const int64_t batch : {1, 2, 5}) {
        SCOPED_TRACE(::testing::Message() << "D=" << width << " L=" << length << " B=" << batch);
        const Tensor mask = some_mask(batch, length), x = torch::randn({batch, length, width});
        const Tensor past = torch::randn({width, length}), future = torch::randn({width, length});
        mega::testing::compare_forms(
            [&](const Tensors& in) { return long_convolution(in[0], in[1], in[2], mask); },
            {x, past, future});
        mega::testing::compare_forms(
            [&](const Tensors& in) { return long_convolution(in[0], in[1], {}, {}); }, {x, past});
      }
}

// With more threads than groups of channels, the batch is divided.
TEST(LongConvolution, AnyNumberOfThreadsGivesTheSameNumbers) {
  torch::manual_seed(3);
  const FormGuard guard(Form::fused);
  const Tensor x = torch::randn({7, 50, 9}), past = torch::randn({9, 50}),
               cotangent = torch::randn({7, 50, 9});
  const int threads = at::get_num_threads();
  const auto run = [&](int count) {
    at::set_num_threads(count);
    return mega::testing::evaluate([](const Tensors& in) { return long_convolution(in[0], in[1], {}, {}); },
                                   {x, past}, cotangent);
  };
  const auto one = run(1);
  mega::testing::expect_same(run(3), one, "three threads");
  at::set_num_threads(threads);
}

TEST(LongConvolution, GradientsOfTheReference) {
  torch::manual_seed(4);
  const auto options = torch::TensorOptions(torch::kFloat64);
  const Tensor mask = some_mask(2, 6);
  Tensors in = {torch::randn({2, 6, 3}, options).requires_grad_(),
                torch::randn({3, 4}, options).requires_grad_(),
                torch::randn({3, 4}, options).requires_grad_()};
  check_gradients([&] { return Tensors{long_convolution(in[0], in[1], in[2], mask)}; }, in);
}

TEST(LongConvolution, RefusesWhatDoesNotFit) {
  const Tensor x = torch::zeros({2, 5, 3}), kernel = torch::zeros({3, 5});
  EXPECT_PRED2(contains, error_of([&] {
                 long_convolution(x, torch::zeros({4, 5}), {}, {});
               }),
               "must be (3, lags)");
  EXPECT_PRED2(contains, error_of([&] { long_convolution(x, torch::zeros({3, 6}), {}, {}); }), "at most 5");
  EXPECT_PRED2(contains, error_of([&] {
                 long_convolution(x, kernel, torch::zeros({3, 4}), {});
               }),
               "the same number of lags");
  EXPECT_PRED2(contains, error_of([&] {
                 long_convolution(x, kernel, {}, torch::zeros({2, 4}));
               }),
               "the mask of a long convolution");
}

}  // namespace
}  // namespace mega::ops
