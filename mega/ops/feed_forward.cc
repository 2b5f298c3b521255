#include "mega/ops/feed_forward.h"

#include "mega/kernels/gates.h"
#include "mega/ops/activation.h"
#include "mega/ops/form.h"
#include "mega/ops/linear.h"
#include "mega/ops/parallel.h"
#include "mega/ops/saved.h"

namespace mega::ops {
namespace {

using kernels::ConstRows;
using kernels::Rows;
using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Tensor activate_rows(const Tensor& x, Activation activation, const Dropout& dropout) {
  Tensor y = torch::empty_like(x);
  const ConstRows from{x.data_ptr<float>(), x.size(1)};
  const Rows to{y.data_ptr<float>(), x.size(1)};
  parallel_rows(x.size(0), x.size(1), [&](int64_t begin, int64_t end) {
    kernels::activate(activation, dropout, from, to, begin, end, x.size(1));
  });
  return y;
}

// dy * mask * activation'(x), in place of dy.
void activate_backward_rows(const Tensor& x, Activation activation, const Dropout& dropout, Tensor& dy) {
  const ConstRows input{x.data_ptr<float>(), x.size(1)}, from{dy.data_ptr<float>(), x.size(1)};
  const Rows to{dy.data_ptr<float>(), x.size(1)};
  parallel_rows(x.size(0), x.size(1), [&](int64_t begin, int64_t end) {
    kernels::activate_backward(activation, dropout, input, from, to, begin, end, x.size(1));
  });
}

// Keeps the hidden layer before its activation only; the activation is made again in the backward pass.
struct FusedFeedForward : torch::autograd::Function<FusedFeedForward> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& residual, const Tensor& w1,
                        const Tensor& b1, const Tensor& w2, const Tensor& b2,
                        const FeedForwardSettings& settings) {
    const Tensor input = x.reshape({-1, x.size(-1)}).contiguous();
    const Tensor before = linear_forward(input, w1, b1);
    Tensor y = linear_forward(activate_rows(before, settings.activation, settings.hidden), w2, b2);
    if (settings.output.active()) y = activate_rows(y, Activation::identity, settings.output);
    context->save_for_backward({input, before, w1, w2});
    save(context, settings);
    return y.view_as(x).add_(residual);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto kept = context->get_saved_variables();
    const Tensor &x = kept[0], &before = kept[1], &w1 = kept[2], &w2 = kept[3];
    const auto [activation, hidden, output] = saved<FeedForwardSettings>(context);
    Tensor dy = gradients[0].reshape({-1, w2.size(0)}).contiguous();
    if (output.active()) dy = activate_rows(dy, Activation::identity, output);
    const Tensor dw2 = linear_weight_gradient(dy, activate_rows(before, activation, hidden));
    Tensor dbefore = linear_input_gradient(dy, w2);
    activate_backward_rows(before, activation, hidden, dbefore);
    const Tensor dx = linear_input_gradient(dbefore, w1).view(gradients[0].sizes());
    return {
        dx,      gradients[0], linear_weight_gradient(dbefore, x), column_sums(dbefore), dw2, column_sums(dy),
        Tensor()};
  }
};

}  // namespace

Tensor feed_forward(const Tensor& x, const Tensor& residual, const Tensor& w1, const Tensor& b1,
                    const Tensor& w2, const Tensor& b2, const FeedForwardSettings& settings) {
  if (use_fused(x))
    return FusedFeedForward::apply(x, residual, w1.contiguous(), b1, w2.contiguous(), b2, settings);
  const Tensor hidden = activate(torch::linear(x, w1, b1), settings.activation, settings.hidden);
  return residual + dropout(torch::linear(hidden, w2, b2), settings.output);
}

}  // namespace mega::ops
