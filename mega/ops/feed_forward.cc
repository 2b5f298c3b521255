#include "mega/ops/feed_forward.h"

#include "mega/ops/activation.h"
#include "mega/ops/form.h"
#include "mega/ops/linear.h"
#include "mega/ops/matmul.h"
#include "mega/ops/precision.h"
#include "mega/ops/row_blocks.h"
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
    const Tensor inner = torch::empty({rows.size(0), w1.size(0)}, rows.options());
    const Tensor y = torch::empty({rows.size(0), w2.size(0)}, torch::kFloat32);
    RowBlocks(rows.size(0), w1.numel()).run([&](const RowBlock& block) {
      linear_forward(block.of(rows), w1, bias1, block.of(inner));
      linear_forward(activate_forward(block.of(inner), hidden.activation, hidden.dropout.from(block.begin)),
                     w2, bias2, block.of(y));
    });
    context->save_for_backward({rows, w1, w2, inner});
    save(context, hidden);
    auto sizes = x.sizes().vec();
    sizes.back() = weight2.size(0);
    return y.view(sizes);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    require_first_derivative("a feed-forward");
    const auto kept = context->get_saved_variables();
    const Tensor &x = kept[0], &w1 = kept[1], &w2 = kept[2], &inner = kept[3];
    const auto hidden = saved<Hidden>(context);
    const Tensor dy = gradients[0].reshape({-1, w2.size(0)}).contiguous();
    const bool narrow = is_narrow(x);
    auto sizes = gradients[0].sizes().vec();
    sizes.back() = w1.size(1);
    const Tensor dx =
        context->needs_input_grad(0) ? torch::empty({x.size(0), w1.size(1)}, torch::kFloat32) : Tensor();
    const RowBlocks blocks(x.size(0), w1.numel());
    PartialSums dweight1(blocks, w1.sizes().vec()), dbias1(blocks, {w1.size(0)}),
        dweight2(blocks, w2.sizes().vec()), dbias2(blocks, {w2.size(0)});
    blocks.run([&](const RowBlock& block) {
      const Tensor own = block.of(inner), factor = stored(block.of(dy), narrow);
      const Tensor dinner = torch::empty_like(own), activated = torch::empty_like(own);
      matmul({factor}, {w2}, dinner);  // until the next line that of what is activated
      activate_backward(own, hidden.activation, hidden.dropout.from(block.begin), dinner, dinner, activated);
      const Addend sum{.accumulate = !block.first};
      matmul({factor, true}, {activated}, dweight2.of(block), sum);
      dbias2.of(block).add_(column_sums(block.of(dy)));
      matmul({dinner, true}, {block.of(x)}, dweight1.of(block), sum);
      dbias1.of(block).add_(column_sums(dinner));
      if (dx.defined()) matmul({dinner}, {w1}, block.of(dx));
    });
    return {dx.defined() ? dx.view(sizes) : dx,
            dweight1.total(),
            dbias1.total(),
            Tensor(),
            dweight2.total(),
            dbias2.total()};
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
