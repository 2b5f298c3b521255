#include "mega/ops/linear.h"

#include "mega/base/error.h"
#include "mega/kernels/gates.h"
#include "mega/ops/activation.h"
#include "mega/ops/form.h"
#include "mega/ops/matmul.h"
#include "mega/ops/maybe.h"
#include "mega/ops/parallel.h"
#include "mega/ops/phase.h"
#include "mega/ops/precision.h"
#include "mega/ops/saved.h"

namespace mega::ops {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What is applied to the input before the product.
struct Prologue {
  Activation activation = Activation::identity;
  Dropout dropout;
  bool trivial() const { return activation == Activation::identity && !dropout.active(); }
  Tensor operator()(const Tensor& x) const {
    return trivial() ? x : activate_forward(x, activation, dropout);
  }
};

// Saves only the input before its activation, which the backward pass recomputes.
struct Linear : torch::autograd::Function<Linear> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Prologue& prologue,
                        const Tensor& weight, const MaybeTensor& bias) {
    const bool narrow = use_bf16();
    const Tensor rows = stored(x.reshape({-1, x.size(-1)}), narrow);
    const Tensor dense = stored_once(weight, narrow);
    context->save_for_backward({rows, dense});
    context->saved_data["biased"] = bias.has_value();
    save(context, prologue);
    auto sizes = x.sizes().vec();
    sizes.back() = weight.size(0);
    const Tensor y = torch::empty({rows.size(0), weight.size(0)}, torch::kFloat32);
    linear_forward(prologue(rows), dense, tensor_of(bias), y);
    return y.view(sizes);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    require_first_derivative("a linear map");
    const auto kept = context->get_saved_variables();
    const Tensor &x = kept[0], &weight = kept[1];
    const auto prologue = saved<Prologue>(context);
    const Tensor dy = gradients[0].reshape({-1, weight.size(0)}).contiguous();
    const Tensor factor = stored(dy, is_narrow(x));
    Tensor dx, dweight, dbias;
    if (context->needs_input_grad(1)) {
      dweight = torch::empty(weight.sizes(), torch::kFloat32);
      matmul({factor, true}, {prologue(x)}, dweight);
    }
    if (context->needs_input_grad(0)) {
      dx = torch::empty({factor.size(0), weight.size(1)}, torch::kFloat32);
      matmul({factor}, {weight}, dx);
      if (!prologue.trivial()) dx = activate_backward(x, prologue.activation, prologue.dropout, dx);
      auto sizes = gradients[0].sizes().vec();
      sizes.back() = weight.size(1);
      dx = dx.view(sizes);
    }
    if (context->saved_data["biased"].toBool() && context->needs_input_grad(2)) dbias = column_sums(dy);
    return {dx, Tensor(), dweight, dbias};
  }
};

}  // namespace

void linear_forward(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& y) {
  const Tensor dense = bias.defined() ? bias.detach().contiguous() : bias;
  matmul({x}, {weight, true}, y, {false, dense.defined() ? dense.data_ptr<float>() : nullptr});
}

Tensor column_sums(const Tensor& dy) {
  const PhaseMark mark(Phase::gates);
  const int64_t rows = dy.size(0), columns = dy.size(1);
  const Tensor partial = torch::zeros({pieces_of(rows), columns}, dy.options().dtype(torch::kFloat32));
  float* sums = partial.data_ptr<float>();
  with_type_of(dy, [&](auto type) {
    using T = decltype(type);
    const kernels::RowsOf<const T> view{data_of<T>(dy), columns};
    parallel_pieces(rows, [&](int64_t piece, int64_t begin, int64_t end) {
      kernels::add_column_sums<T>(view, sums + piece * columns, begin, end, columns);
    });
  });
  return partial.sum(0);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return activated_linear(x, Activation::identity, {}, weight, bias);
}

Tensor activated_linear(const Tensor& x, Activation activation, const Dropout& dropout, const Tensor& weight,
                        const Tensor& bias) {
  require(x.size(-1) == weight.size(1), "linear: input of shape ", x.sizes(), " needs a last dimension of ",
          weight.size(1));
  if (use_fused(x)) return Linear::apply(x, Prologue{activation, dropout}, weight, maybe(bias));
  return torch::linear(activate(x, activation, dropout), weight, bias);
}

}  // namespace mega::ops
