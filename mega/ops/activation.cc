#include "mega/ops/activation.h"

#include "mega/base/error.h"
#include "mega/kernels/gates.h"
#include "mega/ops/dropout.h"
#include "mega/ops/form.h"
#include "mega/ops/parallel.h"
#include "mega/ops/phase.h"
#include "mega/ops/precision.h"
#include "mega/ops/saved.h"

namespace mega::ops {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Activate : torch::autograd::Function<Activate> {
  static Tensor forward(AutogradContext* context, const Tensor& x, Activation activation, Dropout dropout) {
    const Tensor input = x.contiguous();
    // Dropout alone does not need its input in the backward pass.
    if (activation != Activation::identity) context->save_for_backward({input});
    save(context, std::make_pair(activation, dropout));
    return activate_forward(input, activation, dropout);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    require_first_derivative("an activation");
    const auto [activation, dropout] = saved<std::pair<Activation, Dropout>>(context);
    const Tensor dy = gradients[0].contiguous();
    const Tensor x = activation == Activation::identity ? dy : context->get_saved_variables()[0];
    return {activate_backward(x, activation, dropout, dy), Tensor(), Tensor()};
  }
};

Tensor reference(const Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::identity:
      return x;
    case Activation::silu:
      return x * torch::sigmoid(x);
    case Activation::gelu:
      return 0.5 * x * (1 + torch::erf(x * M_SQRT1_2));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + torch::tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
    case Activation::relu:
      return torch::relu(x);
    case Activation::relu2:
      return relu2(x);
    case Activation::sigmoid:
      return torch::sigmoid(x);
  }
  fail("unknown activation");
}

}  // namespace

Tensor activate_forward(const Tensor& x, Activation activation, const Dropout& dropout) {
  const PhaseMark mark(Phase::gates);
  const Tensor y = torch::empty_like(x);
  const int64_t columns = x.size(-1);
  with_type_of(x, [&](auto type) {
    using T = decltype(type);
    const kernels::RowsOf<const T> from{data_of<T>(x), columns};
    const kernels::RowsOf<T> to{data_of<T>(y), columns};
    parallel_rows(columns == 0 ? 0 : x.numel() / columns, columns, [&](int64_t begin, int64_t end) {
      kernels::activate<T>(activation, dropout, from, to, begin, end, columns);
    });
  });
  return y;
}

Tensor activate_backward(const Tensor& x, Activation activation, const Dropout& dropout, const Tensor& dy) {
  const Tensor dx = torch::empty(dy.sizes(), dy.options().dtype(torch::kFloat32));
  activate_backward(x, activation, dropout, dy, dx);
  return dx;
}

void activate_backward(const Tensor& x, Activation activation, const Dropout& dropout, const Tensor& dy,
                       const Tensor& dx, const Tensor& y) {
  const PhaseMark mark(Phase::gates);
  const int64_t columns = dy.size(-1), rows = columns == 0 ? 0 : dy.numel() / columns;
  const auto run = [&]<class X, class D, class Y>(X, D, Y) {
    const kernels::RowsOf<const X> input{data_of<X>(x), columns};
    const kernels::RowsOf<const Y> from{data_of<Y>(dy), columns};
    const kernels::RowsOf<D> to{data_of<D>(dx), columns};
    const kernels::RowsOf<X> activated{y.defined() ? data_of<X>(y) : nullptr, columns};
    parallel_rows(rows, columns, [&](int64_t begin, int64_t end) {
      kernels::activate_backward<X, D, Y>(activation, dropout, input, from, to, begin, end, columns,
                                          activated);
    });
  };
  if (!is_narrow(x)) {
    require(!is_narrow(dx) && !is_narrow(dy), "the derivative of an activation of float32 is float32");
    return run(float{}, float{}, float{});
  }
  with_type_of(
      dx, [&](auto result) { with_type_of(dy, [&](auto gradient) { run(uint16_t{}, result, gradient); }); });
}

Tensor activate(const Tensor& x, Activation activation, const Dropout& dropout) {
  if (use_fused(x)) return Activate::apply(x, activation, dropout);
  const Tensor y = reference(x, activation);
  if (!dropout.active()) return y;
  const int64_t columns = x.size(-1);
  return y * dropout_mask(dropout, x.numel() / columns, columns, x.options()).view(x.sizes());
}

Tensor relu2(const Tensor& x) { return torch::relu(x).square(); }

// Equation 16 with the constants rounded as in the released implementation.
Tensor laplace(const Tensor& x) {
  constexpr double kMean = 0.707107, kDeviation = 0.282095;
  return 0.5 * (1 + torch::erf((x - kMean) / (kDeviation * M_SQRT2)));
}

}  // namespace mega::ops
