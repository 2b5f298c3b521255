#include "mega/ops/feed_forward.h"

#include "mega/ops/activation.h"
#include "mega/ops/form.h"
#include "mega/ops/linear.h"
#include "mega/ops/matmul.h"
#include "mega/ops/precision.h"
#include "mega/ops/saved.h"

namespace mega::ops {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Hidden {
  Activation activation;
  Dropout dropout;
};

struct FusedFeedForward : torch::autograd::Function<FusedFeedForward> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight1, const Tensor& bias1,
                        const Hidden& hidden, const Tensor& weight2, const Tensor& bias2) {
    const bool narrow = use_bf16();
    const Tensor rows = stored(x.reshape({-1, x.size(-1)}), narrow);
    const Tensor w1 = stored_once(weight1, narrow), w2 = stored_once(weight2, narrow);
    const Tensor inner = linear_forward(rows, w1, bias1, rows.scalar_type());
    context->save_for_backward({rows, w1, w2, inner});
    save(context, hidden);
    auto sizes = x.sizes().vec();
    sizes.back() = weight2.size(0);
    return linear_forward(activate_forward(inner, hidden.activation, hidden.dropout), w2, bias2).view(sizes);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    require_first_derivative("a feed-forward");
    const auto kept = context->get_saved_variables();
    const Tensor &x = kept[0], &w1 = kept[1], &w2 = kept[2], &inner = kept[3];
    const auto hidden = saved<Hidden>(context);
    const Tensor dy = gradients[0].reshape({-1, w2.size(0)}).contiguous();
    const Tensor factor = stored(dy, is_narrow(x));
    const Tensor dweight2 =
        linear_weight_gradient(factor, activate_forward(inner, hidden.activation, hidden.dropout));
    const Tensor dhidden = torch::empty_like(inner);
    matmul({factor}, {w2}, dhidden);
    const Tensor dinner = activate_backward(inner, hidden.activation, hidden.dropout, dhidden, is_narrow(x));
    Tensor dx;
    if (context->needs_input_grad(0)) {
      auto sizes = gradients[0].sizes().vec();
      sizes.back() = w1.size(1);
      dx = linear_input_gradient(dinner, w1).view(sizes);
    }
    return {dx, linear_weight_gradient(dinner, x), column_sums(dinner), Tensor(), dweight2, column_sums(dy)};
  }
};

}  // namespace

Tensor feed_forward(const Tensor& x, const Tensor& weight1, const Tensor& bias1, Activation activation,
                    const Dropout& dropout, const Tensor& weight2, const Tensor& bias2) {
  if (use_fused(x))
    return FusedFeedForward::apply(x, weight1, bias1, Hidden{activation, dropout}, weight2, bias2);
  return activated_linear(linear(x, weight1, bias1), activation, dropout, weight2, bias2);
}

}  // namespace mega::ops
