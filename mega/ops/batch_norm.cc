#include "mega/ops/batch_norm.h"

#include "mega/kernels/batch_norm.h"
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

ConstRows const_rows(const Tensor& x) { return {x.data_ptr<float>(), x.size(1)}; }

// Two sums per column, (2, D) in double; add(sums, others, begin, end) adds a range of rows.
template <class Add>
Tensor sum_rows(const Tensor& rows, const Add& add) {
  const int64_t columns = rows.size(1);
  Tensor partial = torch::zeros({at::get_num_threads(), 2, columns}, torch::kFloat64);
  double* sums = partial.data_ptr<double>();
  parallel_rows(rows.size(0), columns, [&](int64_t begin, int64_t end) {
    double* mine = sums + at::get_thread_num() * 2 * columns;
    add(mine, mine + columns, begin, end);
  });
  return partial.sum(0);
}

// Each (D) in double, computed relative to the first row, so that a large mean costs no precision.
BatchStatistics statistics_of(const Tensor& rows) {
  const PhaseMark mark(Phase::norms);
  const double count = static_cast<double>(rows.size(0));
  const Tensor shift = rows[0].to(torch::kFloat64);
  const Tensor means = sum_rows(rows,
                                [&](double* sums, double* squares, int64_t begin, int64_t end) {
                                  kernels::batch_moments(const_rows(rows), shift.data_ptr<double>(), sums,
                                                         squares, begin, end, rows.size(1));
                                }) /
                       count;
  return {shift + means[0], (means[1] - means[0].square()).clamp_min(0.0)};
}

struct BatchNorm : torch::autograd::Function<BatchNorm> {
  // x (M, D) contiguous; mean and inverse (D) in double.
  static Tensor forward(AutogradContext* context, const Tensor& x, const MaybeTensor& weight,
                        const MaybeTensor& bias, const Tensor& mean, const Tensor& inverse) {
    const PhaseMark mark(Phase::norms);
    const Tensor scale = weight ? inverse * weight->to(torch::kFloat64) : inverse;
    const Tensor shift = bias ? bias->to(torch::kFloat64) : torch::zeros_like(inverse);
    Tensor y = torch::empty_like(x);
    const Rows out{y.data_ptr<float>(), x.size(1)};
    parallel_rows(x.size(0), x.size(1), [&](int64_t begin, int64_t end) {
      kernels::batch_norm(const_rows(x), mean.data_ptr<double>(), scale.data_ptr<double>(),
                          shift.data_ptr<double>(), out, begin, end, x.size(1));
    });
    context->save_for_backward({x, mean, inverse, scale});
    context->saved_data["affine"] = weight.has_value();
    return y;
  }

  // dx = (dy - mean(dy) - (x - mean) inverse^2 mean(dy (x - mean))) scale
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    require_first_derivative("a batch norm");
    const PhaseMark mark(Phase::norms);
    const auto kept = context->get_saved_variables();
    const Tensor &x = kept[0], &mean = kept[1], &inverse = kept[2], &scale = kept[3];
    const Tensor dy = gradients[0].contiguous();
    const Tensor sums = sum_rows(x, [&](double* first, double* second, int64_t begin, int64_t end) {
      kernels::batch_norm_sums(const_rows(x), mean.data_ptr<double>(), const_rows(dy), first, second, begin,
                               end, x.size(1));
    });
    const Tensor means = sums / static_cast<double>(x.size(0));
    const Tensor slope = means[1] * inverse.square();
    Tensor dx = torch::empty_like(x);
    const Rows out{dx.data_ptr<float>(), x.size(1)};
    parallel_rows(x.size(0), x.size(1), [&](int64_t begin, int64_t end) {
      kernels::batch_norm_backward(const_rows(x), mean.data_ptr<double>(), const_rows(dy),
                                   means.data_ptr<double>(), slope.data_ptr<double>(),
                                   scale.data_ptr<double>(), out, begin, end, x.size(1));
    });
    Tensor dweight, dbias;
    if (context->saved_data["affine"].toBool()) {
      dweight = (sums[1] * inverse).to(x.scalar_type());
      dbias = sums[0].to(x.scalar_type());
    }
    return {dx, dweight, dbias, Tensor(), Tensor()};
  }
};

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                  BatchStatistics* statistics) {
  const Tensor rows = x.reshape({-1, x.size(-1)});
  if (use_fused(x)) {
    const Tensor dense = rows.contiguous();
    *statistics = statistics_of(dense.detach());
    return BatchNorm::apply(dense, maybe(weight), maybe(bias), statistics->mean,
                            torch::rsqrt(statistics->variance + eps))
        .view_as(x);
  }
  const Tensor exact = rows.to(torch::kFloat64), mean = exact.mean(0);
  const Tensor centred = exact - mean, variance = centred.square().mean(0);
  *statistics = {mean.detach(), variance.detach()};
  Tensor y = centred * torch::rsqrt(variance + eps);
  if (weight.defined()) y = y * weight + bias;
  return y.to(x.scalar_type()).view_as(x);
}

}  // namespace mega::ops
