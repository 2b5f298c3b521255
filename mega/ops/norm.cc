#include "mega/ops/norm.h"

#include "mega/base/error.h"
#include "mega/kernels/norm.h"
#include "mega/ops/form.h"
#include "mega/ops/maybe.h"
#include "mega/ops/parallel.h"
#include "mega/ops/phase.h"
#include "mega/ops/saved.h"

namespace mega::ops {
namespace {

using kernels::ConstRows;
using kernels::Rows;
using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

const float* data_or_null(const Tensor& x) { return x.defined() ? x.data_ptr<float>() : nullptr; }

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const MaybeTensor& given_weight,
                        double eps) {
    const PhaseMark mark(Phase::norms);
    const Tensor weight = given_weight ? given_weight->contiguous() : Tensor();
    const Tensor input = x.contiguous();
    const int64_t columns = input.size(-1), rows = input.numel() / columns;
    Tensor y = torch::empty_like(input);
    Tensor inverse = torch::empty({rows}, input.options());
    const bool scalar = weight.defined() && weight.numel() == 1;
    const ConstRows from{input.data_ptr<float>(), columns};
    const Rows to{y.data_ptr<float>(), columns};
    float* inverses = inverse.data_ptr<float>();
    parallel_rows(rows, columns, [&](int64_t begin, int64_t end) {
      kernels::rms_norm(from, data_or_null(weight), scalar, static_cast<float>(eps), to, inverses, begin, end,
                        columns);
    });
    context->save_for_backward({input, weight, inverse});
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    require_first_derivative("a norm");
    const PhaseMark mark(Phase::norms);
    const auto kept = context->get_saved_variables();
    const Tensor &x = kept[0], &weight = kept[1], &inverse = kept[2];
    const Tensor dy = gradients[0].contiguous();
    const int64_t columns = x.size(-1), rows = x.numel() / columns;
    Tensor dx = torch::empty_like(x), partial;
    const bool scalar = weight.defined() && weight.numel() == 1;
    if (weight.defined()) partial = torch::zeros({pieces_of(rows), weight.numel()}, x.options());
    const ConstRows input{x.data_ptr<float>(), columns}, from{dy.data_ptr<float>(), columns};
    const Rows to{dx.data_ptr<float>(), columns};
    parallel_pieces(rows, [&](int64_t piece, int64_t begin, int64_t end) {
      float* dweight = weight.defined() ? partial.data_ptr<float>() + piece * weight.numel() : nullptr;
      kernels::rms_norm_backward(input, data_or_null(weight), scalar, inverse.data_ptr<float>(), from, to,
                                 dweight, begin, end, columns);
    });
    return {dx, weight.defined() ? partial.sum(0) : Tensor(), Tensor()};
  }
};

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  if (use_fused(x)) return RmsNorm::apply(x, maybe(weight), eps);
  const Tensor y = x * torch::rsqrt(x.square().mean(-1, true) + eps);
  return weight.defined() ? y * weight : y;
}

}  // namespace mega::ops
