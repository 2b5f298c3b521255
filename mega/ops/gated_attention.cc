#include "mega/ops/gated_attention.h"

#include "mega/kernels/gates.h"
#include "mega/ops/activation.h"
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

kernels::OutputGate output_gate(const Tensor& residual, const Tensor& mixed, const Tensor& path,
                                const GatedAttentionSettings& settings, const Widths& w) {
  const Parts<const float> parts(mixed.data_ptr<float>(), w);
  return {settings.activation,
          settings.candidate,
          parts.update,
          parts.candidate,
          {residual.data_ptr<float>(), w.width},
          path.defined() ? path.data_ptr<float>() : nullptr,
          residual.size(1)};
}

struct FusedGatedAttention : torch::autograd::Function<FusedGatedAttention> {
  static Tensor forward(AutogradContext* context, const Tensor& residual, const Tensor& averaged,
                        const Tensor& values, const Tensor& mixed_weight, const Tensor& mixed_bias,
                        const Tensor& gamma, const Tensor& beta, const Tensor& weight, const Tensor& bias,
                        const MaybeTensor& given_relative, int64_t first_offset,
                        const MaybeTensor& given_mask, const MaybeTensor& given_path,
                        const GatedAttentionSettings& settings) {
    const Tensor relative = tensor_of(given_relative), mask = tensor_of(given_mask),
                 path = tensor_of(given_path);
    const Widths w(residual, gamma, values);
    // Adds both biases of the candidate at once; only their sum matters.
    Tensor biases = mixed_bias.clone();
    biases.narrow(0, w.mixed - w.width, w.width).add_(bias);
    const Tensor mixed = linear_forward(activate_average(averaged, settings, w), mixed_weight, biases)
                             .view({residual.size(0), residual.size(1), w.mixed});
    const auto made = queries_keys_values(mixed, values, gamma, beta, settings, w);
    const auto attended =
        attention_forward(made.q, made.k, made.v, {relative, first_offset}, mask, settings.attention);
    const Tensor product = reset_attention(attended.out, mixed, w);
    const Parts<float> parts(mixed.data_ptr<float>(), w);
    matmul(w.rows, w.width, w.values, {product.data_ptr<float>(), w.values},
           {weight.data_ptr<float>(), w.values, true}, parts.candidate.data, w.mixed, true);

    Tensor y = torch::empty_like(residual);
    const auto gate = output_gate(residual, mixed, path, settings, w);
    const Rows to{y.data_ptr<float>(), w.width};
    parallel_rows(w.rows, w.width,
                  [&](int64_t begin, int64_t end) { kernels::output_gate(gate, to, begin, end, w.width); });
    context->save_for_backward({residual, averaged, values, mixed_weight, gamma, beta, weight, relative, mask,
                                mixed, attended.out, attended.normalizer, path});
    save(context, std::make_pair(settings, first_offset));
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    require_first_derivative("gated attention");
    const auto kept = context->get_saved_variables();
    const Tensor &residual = kept[0], &averaged = kept[1], &values = kept[2], &mixed_weight = kept[3],
                 &gamma = kept[4], &beta = kept[5], &weight = kept[6], &mask = kept[8], &mixed = kept[9],
                 &path = kept[12];
    const auto [settings, first_offset] = saved<std::pair<GatedAttentionSettings, int64_t>>(context);
    const RelativeBias relative{kept[7], first_offset};
    const AttentionResult attended{kept[10], kept[11]};
    const Widths w(residual, gamma, values);
    const Tensor dy = gradients[0].contiguous();

    // Output gate: gradients of update, candidate and residual.
    Tensor dmixed = torch::empty({w.rows, w.mixed}, mixed.options()), dresidual = torch::empty_like(residual);
    const Parts<float> dparts(dmixed.data_ptr<float>(), w);
    const Parts<const float> parts(mixed.data_ptr<float>(), w);
    {
      const auto gate = output_gate(residual, mixed, path, settings, w);
      const ConstRows from{dy.data_ptr<float>(), w.width};
      const Rows rest{dresidual.data_ptr<float>(), w.width};
      parallel_rows(w.rows, w.width, [&](int64_t begin, int64_t end) {
        kernels::output_gate_backward(gate, from, dparts.update, dparts.candidate, rest, begin, end, w.width);
      });
    }

    // Product with the reset attention.
    Tensor dweight = torch::empty_like(weight);
    {
      const Tensor product = reset_attention(attended.out, mixed, w);
      matmul(w.width, w.values, w.rows, {dparts.candidate.data, w.mixed, true},
             {product.data_ptr<float>(), w.values}, dweight.data_ptr<float>(), w.values);
    }
    Tensor dattended = torch::empty_like(attended.out);
    matmul(w.rows, w.values, w.width, {dparts.candidate.data, w.mixed}, {weight.data_ptr<float>(), w.values},
           dattended.data_ptr<float>(), w.values);
    {
      const ConstRows out{attended.out.data_ptr<float>(), w.values},
          from{dattended.data_ptr<float>(), w.values};
      const Rows to{dattended.data_ptr<float>(), w.values};
      parallel_rows(w.rows, w.values, [&](int64_t begin, int64_t end) {
        kernels::gate_backward(out, parts.reset, from, to, dparts.reset, begin, end, w.values);
      });
    }

    // Attention; the gradients of keys and values overwrite keys and values.
    const auto made = queries_keys_values(mixed, values, gamma, beta, settings, w);
    const auto d = attention_backward(made.q, made.k, made.v, relative, mask, settings.attention, attended,
                                      dattended, made.k, made.v);
    dattended.reset();

    // Queries, keys and values.
    Tensor dgamma = torch::zeros({pieces_of(w.rows), 2, w.shared}, gamma.options());
    Tensor dbeta = torch::zeros_like(dgamma);
    const ConstRows dq{d.dq.data_ptr<float>(), w.shared}, dk{d.dk.data_ptr<float>(), w.shared},
        raw{values.data_ptr<float>(), w.values}, dv{d.dv.data_ptr<float>(), w.values};
    const Rows dvalues{d.dv.data_ptr<float>(), w.values};
    parallel_pieces(w.rows, [&, &settings = settings](int64_t piece, int64_t begin, int64_t end) {
      const int64_t own = piece * 2 * w.shared;
      kernels::share_backward(parts.shared, gamma.data_ptr<float>(), dq, dk, dparts.shared,
                              dgamma.data_ptr<float>() + own, dbeta.data_ptr<float>() + own, begin, end,
                              w.shared);
      kernels::activate_backward(settings.activation, settings.values, raw, dv, dvalues, begin, end,
                                 w.values);
    });

    // Mixed projection of the moving average.
    const Tensor dbiases = column_sums(dmixed);
    const Tensor dmixed_weight = linear_weight_gradient(dmixed, activate_average(averaged, settings, w));
    const Tensor daveraged =
        activate_backward(averaged.view({w.rows, w.width}), settings.average, settings.averaged,
                          linear_input_gradient(dmixed, mixed_weight));
    return {dresidual,
            daveraged.view_as(averaged),
            d.dv,
            dmixed_weight,
            dbiases,
            dgamma.sum(0),
            dbeta.sum(0),
            dweight,
            dbiases.narrow(0, w.mixed - w.width, w.width).clone(),
            d.dbias,
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor()};
  }

 private:
  static Tensor activate_average(const Tensor& averaged, const GatedAttentionSettings& settings,
                                 const Widths& w) {
    return activate_forward(averaged.view({w.rows, w.width}), settings.average, settings.averaged);
  }
};

}  // namespace

Tensor gated_attention(const GatedAttentionInputs& inputs, const RelativeBias& relative, const Tensor& mask,
                       const GatedAttentionSettings& settings) {
  return FusedGatedAttention::apply(inputs.residual.contiguous(), inputs.averaged.contiguous(),
                                    inputs.values.contiguous(), inputs.mixed_weight.contiguous(),
                                    inputs.mixed_bias, inputs.gamma.contiguous(), inputs.beta.contiguous(),
                                    inputs.weight.contiguous(), inputs.bias, maybe(relative.values),
                                    relative.first, maybe(mask), maybe(inputs.path), settings);
}

}  // namespace mega::ops
