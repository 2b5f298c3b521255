#include "mega/ops/cauchy.h"

#include "mega/base/error.h"
#include "mega/kernels/cauchy.h"
#include "mega/ops/form.h"
#include "mega/ops/parallel.h"
#include "mega/ops/saved.h"

namespace mega::ops {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What the sums are made of (mega/kernels/cauchy.h): Re p and |p|^2 (D, N), u and s (D, R, N).
struct PoleParts {
  Tensor real, square, u, s;

  PoleParts(const Tensor& v, const Tensor& p)
      : real(p.select(-1, 0)),
        square(p.square().sum(-1)),
        u((v * p.unsqueeze(1)).sum(-1)),
        s(v.select(-1, 0)) {}
};

// Divides numerator and denominator as they stand there; D x N x M numbers in memory.
Tensor reference(const PoleParts& parts, const Tensor& y) {
  const Tensor a = parts.square.unsqueeze(-1) - y.square(), e = 2 * parts.real.unsqueeze(-1) * y;
  const Tensor g = 1 / (a.square() + e.square()), ga = g * a, ge = g * e;
  const Tensor re = torch::matmul(parts.u, ga) + y * torch::matmul(parts.s, ge);
  const Tensor im = torch::matmul(parts.u, ge) - y * torch::matmul(parts.s, ga);
  return -2 * torch::stack({re, im});
}

kernels::CauchyPoles poles_of(const Tensor& real, const Tensor& square, int64_t channel) {
  const int64_t pairs = real.size(1), at = channel * pairs;
  return {pairs, real.data_ptr<float>() + at, square.data_ptr<float>() + at};
}

kernels::CauchyWeights weights_of(const Tensor& u, const Tensor& s, int64_t channel) {
  const int64_t at = channel * u.stride(0);
  return {u.size(1), u.data_ptr<float>() + at, s.data_ptr<float>() + at};
}

class CauchyFunction : public torch::autograd::Function<CauchyFunction> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& real, const Tensor& square, const Tensor& u,
                        const Tensor& s, const Tensor& y) {
    const int64_t channels = u.size(0), nodes = y.size(0), sums = u.size(1);
    const Tensor result = torch::empty({2, channels, sums, nodes}, y.options());
    parallel_for(0, channels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t d = begin; d < end; ++d) {
        float* re = result.data_ptr<float>() + d * sums * nodes;
        kernels::cauchy_sums(poles_of(real, square, d), weights_of(u, s, d), y.data_ptr<float>(), nodes, re,
                             re + result.stride(0));
      }
    });
    context->save_for_backward({real, square, u, s, y});
    return result;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    require_first_derivative("the Cauchy sums");
    const variable_list kept = context->get_saved_variables();
    const Tensor &real = kept[0], &square = kept[1], &u = kept[2], &s = kept[3], &y = kept[4];
    const Tensor g = grads[0].contiguous();
    const Tensor dreal = torch::empty_like(real), dsquare = torch::empty_like(square),
                 du = torch::empty_like(u), ds = torch::empty_like(s);
    parallel_for(0, u.size(0), 1, [&](int64_t begin, int64_t end) {
      for (int64_t d = begin; d < end; ++d) {
        const float* dre = g.data_ptr<float>() + d * g.stride(1);
        const kernels::CauchyGradients to{
            dreal.data_ptr<float>() + d * real.stride(0), dsquare.data_ptr<float>() + d * real.stride(0),
            du.data_ptr<float>() + d * u.stride(0), ds.data_ptr<float>() + d * u.stride(0)};
        kernels::cauchy_gradients(poles_of(real, square, d), weights_of(u, s, d), y.data_ptr<float>(),
                                  y.size(0), dre, dre + g.stride(0), to);
      }
    });
    return {dreal, dsquare, du, ds, Tensor()};
  }
};

}  // namespace

Tensor cauchy_sums(const Tensor& v, const Tensor& p, const Tensor& y) {
  require(p.dim() == 3 && p.size(2) == 2 && v.dim() == 4 && v.size(0) == p.size(0) &&
              v.size(2) == p.size(1) && v.size(3) == 2 && y.dim() == 1,
          "Cauchy sums take weights (D, R, N, 2), poles (D, N, 2) and nodes (M), not ", v.sizes(), ", ",
          p.sizes(), " and ", y.sizes());
  const PoleParts parts(v, p);
  if (!use_fused(v)) return reference(parts, y);
  return CauchyFunction::apply(parts.real.contiguous(), parts.square.contiguous(), parts.u.contiguous(),
                               parts.s.contiguous(), y.contiguous());
}

}  // namespace mega::ops
