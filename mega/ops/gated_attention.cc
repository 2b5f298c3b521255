#include "mega/ops/gated_attention.h"

#include "mega/kernels/gates.h"
#include "mega/ops/linear.h"
#include "mega/ops/matmul.h"
#include "mega/ops/maybe.h"
#include "mega/ops/parallel.h"
#include "mega/ops/saved.h"

namespace mega::ops {
namespace {

using kernels::ConstRows;
using kernels::Rows;
using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Widths {
  int64_t rows, width, shared, values, mixed;
  explicit Widths(const Tensor& residual, const Tensor& gamma, const Tensor& v)
      : rows(residual.size(0) * residual.size(1)),
        width(residual.size(2)),
        shared(gamma.size(1)),
        values(v.size(2)),
        mixed(2 * width + shared + values) {}
};

// The four parts of a (B, L, D + Z + V + D) tensor, in the released order.
template <class T>
struct Parts {
  kernels::RowsOf<T> update, shared, reset, candidate;
  Parts(T* data, const Widths& w)
      : update{data, w.mixed},
        shared{data + w.width, w.mixed},
        reset{data + w.width + w.shared, w.mixed},
        candidate{data + w.width + w.shared + w.values, w.mixed} {}
};

struct QueriesKeysValues {
  Tensor q, k, v;
};

QueriesKeysValues queries_keys_values(const Tensor& mixed, const Tensor& values, const Tensor& gamma,
                                      const Tensor& beta, const GatedAttentionSettings& settings,
                                      const Widths& w) {
  const int64_t batch = mixed.size(0), length = mixed.size(1);
  QueriesKeysValues made{torch::empty({batch, length, w.shared}, mixed.options()),
                         torch::empty({batch, length, w.shared}, mixed.options()), torch::empty_like(values)};
  const Parts<const float> parts(mixed.data_ptr<float>(), w);
  const Rows q{made.q.data_ptr<float>(), w.shared}, k{made.k.data_ptr<float>(), w.shared},
      v{made.v.data_ptr<float>(), w.values};
  const ConstRows raw{values.data_ptr<float>(), w.values};
  parallel_rows(w.rows, w.mixed, [&](int64_t begin, int64_t end) {
    kernels::share(parts.shared, gamma.data_ptr<float>(), beta.data_ptr<float>(), q, k, begin, end, w.shared);
    kernels::activate(settings.activation, settings.values, raw, v, begin, end, w.values);
  });
  return made;
}

// attention * silu(reset), (B L, V)
Tensor reset_attention(const Tensor& attended, const Tensor& mixed, const Widths& w) {
  Tensor product = torch::empty({w.rows, w.values}, mixed.options());
  const Parts<const float> parts(mixed.data_ptr<float>(), w);
  const ConstRows from{attended.data_ptr<float>(), w.values};
  const Rows to{product.data_ptr<float>(), w.values};
  parallel_rows(w.rows, w.values, [&](int64_t begin, int64_t end) {
    kernels::gate(from, parts.reset, to, begin, end, w.values);
  });
  return product;
}

struct FusedGatedAttention : torch::autograd::Function<FusedGatedAttention> {
  static Tensor forward(AutogradContext* context, const Tensor& residual, const Tensor& mixed,
                        const Tensor& values, const Tensor& gamma, const Tensor& beta,
                        const MaybeTensor& given_relative, int64_t first_offset, const Tensor& weight,
                        const Tensor& bias, const MaybeTensor& given_mask,
                        const GatedAttentionSettings& settings) {
    const Tensor relative = tensor_of(given_relative), mask = tensor_of(given_mask);
    const Widths w(residual, gamma, values);
    const auto made = queries_keys_values(mixed, values, gamma, beta, settings, w);
    const auto attended =
        attention_forward(made.q, made.k, made.v, {relative, first_offset}, mask, settings.attention);

    // candidate = W (attention * reset) + b + the mixed part
    Tensor candidate = mixed.narrow(2, w.mixed - w.width, w.width).add(bias).view({w.rows, w.width});
    const Tensor product = reset_attention(attended.out, mixed, w);
    matmul(w.rows, w.width, w.values, {product.data_ptr<float>(), w.values},
           {weight.data_ptr<float>(), w.values, true}, candidate.data_ptr<float>(), w.width, true);

    Tensor y = torch::empty_like(residual);
    const auto gate = output_gate(residual, mixed, candidate, settings, w);
    const Rows to{y.data_ptr<float>(), w.width};
    parallel_rows(w.rows, w.width, [&](int64_t begin, int64_t end) {
      kernels::output_gate(gate, to, begin, end, w.width);
    });
    context->save_for_backward({residual, mixed, values, gamma, beta, relative, weight, mask, attended.out,
                                attended.normalizer, candidate});
    save(context, std::make_pair(settings, first_offset));
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto kept = context->get_saved_variables();
    const Tensor &residual = kept[0], &mixed = kept[1], &values = kept[2], &gamma = kept[3], &beta = kept[4],
                 &weight = kept[6], &mask = kept[7], &candidate = kept[10];
    const auto [settings, first_offset] = saved<std::pair<GatedAttentionSettings, int64_t>>(context);
    const RelativeBias relative{kept[5], first_offset};
    AttentionResult attended{kept[8], kept[9]};
    const Widths w(residual, gamma, values);
    const Tensor dy = gradients[0].contiguous();

    Tensor dmixed = torch::empty_like(mixed), dresidual = torch::empty_like(residual);
    Tensor dcandidate = torch::empty_like(candidate);
    const Parts<float> dparts(dmixed.data_ptr<float>(), w);
    const Parts<const float> parts(mixed.data_ptr<float>(), w);
    {
      const auto gate = output_gate(residual, mixed, candidate, settings, w);
      const ConstRows from{dy.data_ptr<float>(), w.width};
      const Rows to{dcandidate.data_ptr<float>(), w.width}, rest{dresidual.data_ptr<float>(), w.width};
      parallel_rows(w.rows, w.width, [&](int64_t begin, int64_t end) {
        kernels::output_gate_backward(gate, from, dparts.update, to, rest, begin, end, w.width);
        for (int64_t row = begin; row < end; ++row) std::copy_n(to[row], w.width, dparts.candidate[row]);
      });
    }
    const Tensor dweight = linear_weight_gradient(dcandidate, reset_attention(attended.out, mixed, w));
    const Tensor dbias = column_sums(dcandidate);
    Tensor dattended = linear_input_gradient(dcandidate, weight).view_as(attended.out);
    {
      const ConstRows out{attended.out.data_ptr<float>(), w.values}, from{dattended.data_ptr<float>(), w.values};
      const Rows to{dattended.data_ptr<float>(), w.values};
      parallel_rows(w.rows, w.values, [&](int64_t begin, int64_t end) {
        kernels::gate_backward(out, parts.reset, from, to, dparts.reset, begin, end, w.values);
      });
    }
    const auto made = queries_keys_values(mixed, values, gamma, beta, settings, w);
    auto d =
        attention_backward(made.q, made.k, made.v, relative, mask, settings.attention, attended, dattended);

    Tensor dgamma = torch::zeros({at::get_num_threads(), 2, w.shared}, gamma.options());
    Tensor dbeta = torch::zeros_like(dgamma);
    const ConstRows dq{d.dq.data_ptr<float>(), w.shared}, dk{d.dk.data_ptr<float>(), w.shared},
        raw{values.data_ptr<float>(), w.values}, dv{d.dv.data_ptr<float>(), w.values};
    const Rows dvalues{d.dv.data_ptr<float>(), w.values};
    parallel_rows(w.rows, w.mixed, [&](int64_t begin, int64_t end) {
      const int64_t own = at::get_thread_num() * 2 * w.shared;
      kernels::share_backward(parts.shared, gamma.data_ptr<float>(), dq, dk, dparts.shared,
                              dgamma.data_ptr<float>() + own, dbeta.data_ptr<float>() + own, begin, end, w.shared);
      kernels::activate_backward(settings.activation, settings.values, raw, dv, dvalues, begin, end, w.values);
    });
    return {dresidual, dmixed,   d.dv,    dgamma.sum(0), dbeta.sum(0), d.dbias,
            Tensor(),  dweight, dbias, Tensor(), Tensor()};
  }

 private:
  static kernels::OutputGate output_gate(const Tensor& residual, const Tensor& mixed, const Tensor& candidate,
                                         const GatedAttentionSettings& settings, const Widths& w) {
    const Parts<const float> parts(mixed.data_ptr<float>(), w);
    return {settings.activation, settings.candidate, parts.update, {candidate.data_ptr<float>(), w.width},
            {residual.data_ptr<float>(), w.width}};
  }
};

}  // namespace

Tensor gated_attention(const GatedAttentionInputs& inputs, const RelativeBias& relative, const Tensor& mask,
                       const GatedAttentionSettings& settings) {
  return FusedGatedAttention::apply(inputs.residual.contiguous(), inputs.mixed.contiguous(),
                                    inputs.values.contiguous(), inputs.gamma.contiguous(),
                                    inputs.beta.contiguous(), maybe(relative.values), relative.first,
                                    inputs.weight.contiguous(), inputs.bias, maybe(mask), settings);
}

}  // namespace mega::ops
