#include "mega/ops/gated_attention.h"

#include "mega/kernels/gates.h"
#include "mega/ops/activation.h"
#include "mega/ops/linear.h"
#include "mega/ops/matmul.h"
#include "mega/ops/maybe.h"
#include "mega/ops/parallel.h"
#include "mega/ops/phase.h"
#include "mega/ops/precision.h"
#include "mega/ops/saved.h"

namespace mega::ops {
namespace {

using kernels::ConstRows;
using kernels::Rows;
using kernels::RowsOf;
using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Widths {
  int64_t rows, width, shared, values, mixed;
  Widths(const Tensor& residual, const Tensor& gamma, const Tensor& weight)
      : rows(residual.size(0) * residual.size(1)),
        width(residual.size(2)),
        shared(gamma.size(1)),
        values(weight.size(1)),
        mixed(2 * width + shared + values) {}
};

// The four parts of a (B L, D + Z + V + D) matrix, in the released order.
template <class T>
struct Parts {
  RowsOf<T> update, shared, reset, candidate;
  Parts(T* data, const Widths& w)
      : update{data, w.mixed},
        shared{data + w.width, w.mixed},
        reset{data + w.width + w.shared, w.mixed},
        candidate{data + w.width + w.shared + w.values, w.mixed} {}
};
// The last part as a tensor.
Tensor candidate_of(const Tensor& mixed, const Widths& w) {
  return mixed.narrow(1, w.mixed - w.width, w.width);
}

struct QueriesKeysValues {
  Tensor q, k, v;  // (B, L, Z), (B, L, Z), (B, L, V), of the type of `mixed`
};

QueriesKeysValues queries_keys_values(const Tensor& mixed, const Tensor& values, const Tensor& gamma,
                                      const Tensor& beta, int64_t batch,
                                      const GatedAttentionSettings& settings, const Widths& w) {
  const int64_t length = w.rows / batch;
  const QueriesKeysValues made{torch::empty({batch, length, w.shared}, mixed.options()),
                               torch::empty({batch, length, w.shared}, mixed.options()),
                               torch::empty({batch, length, w.values}, mixed.options())};
  with_type_of(mixed, [&](auto type) {
    using T = decltype(type);
    const Parts<const T> parts(data_of<T>(mixed), w);
    const RowsOf<T> q{data_of<T>(made.q), w.shared}, k{data_of<T>(made.k), w.shared},
        v{data_of<T>(made.v), w.values};
    const RowsOf<const T> raw{data_of<T>(values), w.values};
    parallel_rows(w.rows, w.mixed, [&](int64_t begin, int64_t end) {
      kernels::share<T>(parts.shared, gamma.data_ptr<float>(), beta.data_ptr<float>(), q, k, begin, end,
                        w.shared);
      kernels::activate<T>(settings.activation, settings.values, raw, v, begin, end, w.values);
    });
  });
  return made;
}

// attention * silu(reset), (B L, V)
Tensor reset_attention(const Tensor& attended, const Tensor& mixed, const Widths& w) {
  const Tensor product = torch::empty({w.rows, w.values}, mixed.options());
  with_type_of(mixed, [&](auto type) {
    using T = decltype(type);
    const Parts<const T> parts(data_of<T>(mixed), w);
    const RowsOf<const T> from{data_of<T>(attended), w.values};
    const RowsOf<T> to{data_of<T>(product), w.values};
    parallel_rows(w.rows, w.values, [&](int64_t begin, int64_t end) {
      kernels::gate<T>(from, parts.reset, to, begin, end, w.values);
    });
  });
  return product;
}

template <class T>
kernels::OutputGateOf<T> output_gate(const Tensor& residual, const Tensor& mixed, const Tensor& path,
                                     const GatedAttentionSettings& settings, const Widths& w) {
  const Parts<const T> parts(data_of<T>(mixed), w);
  return {settings.activation,
          settings.candidate,
          parts.update,
          parts.candidate,
          {residual.data_ptr<float>(), w.width},
          path.defined() ? path.data_ptr<float>() : nullptr,
          residual.size(1)};
}

struct FusedGatedAttention : torch::autograd::Function<FusedGatedAttention> {
  static Tensor forward(AutogradContext* context, const Tensor& residual, const Tensor& input,
                        const Tensor& averaged, const Tensor& values_weight, const Tensor& values_bias,
                        const Tensor& mixed_weight, const Tensor& mixed_bias, const Tensor& gamma,
                        const Tensor& beta, const Tensor& weight, const Tensor& bias,
                        const MaybeTensor& given_relative, int64_t first_offset,
                        const MaybeTensor& given_mask, const MaybeTensor& given_path,
                        const GatedAttentionSettings& settings) {
    const Tensor relative = tensor_of(given_relative), mask = tensor_of(given_mask),
                 path = tensor_of(given_path);
    const PhaseMark mark(Phase::gates);
    const Widths w(residual, gamma, weight);
    const bool narrow = use_bf16();
    const Tensor v_weight = stored_once(values_weight, narrow), m_weight = stored_once(mixed_weight, narrow),
                 h_weight = stored_once(weight, narrow);
    const Tensor average = stored(averaged, narrow).view({w.rows, w.width});
    const auto type = average.scalar_type();
    // Without prenorm, input and residual are one tensor, which is kept as it is.
    const bool one = input.is_same(residual);
    const Tensor rounded = one ? stored(input, narrow) : stored_once(input, narrow);
    const Tensor values = linear_forward(rounded.view({w.rows, w.width}), v_weight, values_bias, type);
    // Adds both biases of the candidate at once; only their sum matters.
    const Tensor biases = mixed_bias.clone();
    biases.narrow(0, w.mixed - w.width, w.width).add_(bias);
    const Tensor mixed = linear_forward(activate_forward(average, settings.average, settings.averaged),
                                        m_weight, biases, type);
    const auto made = queries_keys_values(mixed, values, gamma, beta, residual.size(0), settings, w);
    const auto attended =
        attention_forward(made.q, made.k, made.v, {relative, first_offset}, mask, settings.attention);
    const Tensor out = stored(attended.out, narrow);
    matmul({reset_attention(out, mixed, w)}, {h_weight, true}, candidate_of(mixed, w), {.accumulate = true});

    const Tensor y = torch::empty_like(residual);
    const Rows to{y.data_ptr<float>(), w.width};
    with_type_of(mixed, [&](auto stored_type) {
      using T = decltype(stored_type);
      const auto gate = output_gate<T>(residual, mixed, path, settings, w);
      parallel_rows(w.rows, w.width, [&](int64_t begin, int64_t end) {
        kernels::output_gate<T>(gate, to, begin, end, w.width);
      });
    });
    context->save_for_backward({residual, one ? residual : rounded, average, values, v_weight, m_weight,
                                gamma, beta, h_weight, relative, mask, mixed, out, attended.normalizer,
                                path});
    context->saved_data["one"] = one;
    save(context, std::make_pair(settings, first_offset));
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    require_first_derivative("gated attention");
    const PhaseMark mark(Phase::gates);
    const auto kept = context->get_saved_variables();
    const Tensor &residual = kept[0], &input = kept[1], &average = kept[2], &values = kept[3],
                 &v_weight = kept[4], &m_weight = kept[5], &gamma = kept[6], &beta = kept[7],
                 &h_weight = kept[8], &mask = kept[10], &mixed = kept[11], &path = kept[14];
    const auto [settings, first_offset] = saved<std::pair<GatedAttentionSettings, int64_t>>(context);
    const RelativeBias relative{kept[9], first_offset};
    const AttentionResult attended{kept[12], kept[13]};
    const Widths w(residual, gamma, h_weight);
    const Tensor dy = gradients[0].contiguous();
    const bool narrow = is_narrow(mixed);

    // Output gate: gradients of update, candidate and residual.
    const Tensor dmixed = torch::empty_like(mixed), dresidual = torch::empty_like(residual);
    with_type_of(mixed, [&, &settings = settings](auto type) {
      using T = decltype(type);
      const Parts<T> dparts(data_of<T>(dmixed), w);
      const auto gate = output_gate<T>(residual, mixed, path, settings, w);
      const ConstRows from{dy.data_ptr<float>(), w.width};
      const Rows rest{dresidual.data_ptr<float>(), w.width};
      parallel_rows(w.rows, w.width, [&](int64_t begin, int64_t end) {
        kernels::output_gate_backward<T>(gate, from, dparts.update, dparts.candidate, rest, begin, end,
                                         w.width);
      });
    });

    // Product with the reset attention.
    const Tensor dcandidate = candidate_of(dmixed, w);
    const Tensor dweight = torch::empty(h_weight.sizes(), gamma.options());
    matmul({dcandidate, true}, {reset_attention(attended.out, mixed, w)}, dweight);
    Tensor dattended = torch::empty({w.rows, w.values}, mixed.options());
    matmul({dcandidate}, {h_weight}, dattended);
    with_type_of(mixed, [&](auto type) {
      using T = decltype(type);
      const Parts<const T> parts(data_of<T>(mixed), w);
      const Parts<T> dparts(data_of<T>(dmixed), w);
      const RowsOf<T> d{data_of<T>(dattended), w.values};
      const RowsOf<const T> out{data_of<T>(attended.out), w.values}, from{d.data, d.stride};
      parallel_rows(w.rows, w.values, [&](int64_t begin, int64_t end) {
        kernels::gate_backward<T>(out, parts.reset, from, d, dparts.reset, begin, end, w.values);
      });
    });

    // Attention; float32 gradients of keys and values overwrite keys and values.
    auto made = queries_keys_values(mixed, values, gamma, beta, residual.size(0), settings, w);
    const auto d = attention_backward(made.q, made.k, made.v, relative, mask, settings.attention, attended,
                                      dattended, /*overwrite=*/true);
    dattended.reset();
    made = {};

    // Queries, keys and values.
    const Tensor dgamma = torch::zeros({pieces_of(w.rows), 2, w.shared}, gamma.options());
    const Tensor dbeta = torch::zeros_like(dgamma);
    const Tensor dvalues = narrow ? torch::empty_like(values) : d.dv.view({w.rows, w.values});
    with_type_of(mixed, [&, &settings = settings](auto type) {
      using T = decltype(type);
      const Parts<const T> parts(data_of<T>(mixed), w);
      const Parts<T> dparts(data_of<T>(dmixed), w);
      const ConstRows dq{d.dq.data_ptr<float>(), w.shared}, dk{d.dk.data_ptr<float>(), w.shared},
          dv{d.dv.data_ptr<float>(), w.values};
      const RowsOf<const T> raw{data_of<T>(values), w.values};
      const RowsOf<T> to{data_of<T>(dvalues), w.values};
      parallel_pieces(w.rows, [&](int64_t piece, int64_t begin, int64_t end) {
        const int64_t own = piece * 2 * w.shared;
        kernels::share_backward<T>(parts.shared, gamma.data_ptr<float>(), dq, dk, dparts.shared,
                                   dgamma.data_ptr<float>() + own, dbeta.data_ptr<float>() + own, begin, end,
                                   w.shared);
        kernels::activate_backward<T, T>(settings.activation, settings.values, raw, dv, to, begin, end,
                                         w.values);
      });
    });
    const Tensor dvalues_bias = column_sums(dvalues);
    const Tensor dvalues_weight =
        linear_weight_gradient(dvalues, stored(input, narrow).view({w.rows, w.width}));
    // Without prenorm, input and residual are one tensor, and so is their gradient.
    Tensor dinput;
    if (context->saved_data["one"].toBool()) {
      matmul({dvalues}, {v_weight}, dresidual.view({w.rows, w.width}), {.accumulate = true});
    } else {
      dinput = linear_input_gradient(dvalues, v_weight).view_as(input);
    }

    // Mixed projection of the moving average.
    const Tensor dbiases = column_sums(dmixed);
    const Tensor dmixed_weight =
        linear_weight_gradient(dmixed, activate_forward(average, settings.average, settings.averaged));
    const Tensor dactivated = torch::empty_like(average);
    matmul({dmixed}, {m_weight}, dactivated);
    const Tensor daveraged = activate_backward(average, settings.average, settings.averaged, dactivated);
    return {dresidual,
            dinput,
            daveraged.view_as(residual),
            dvalues_weight,
            dvalues_bias,
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
};

}  // namespace

Tensor gated_attention(const GatedAttentionInputs& inputs, const RelativeBias& relative, const Tensor& mask,
                       const GatedAttentionSettings& settings) {
  return FusedGatedAttention::apply(
      inputs.residual.contiguous(), inputs.input.contiguous(), inputs.averaged.contiguous(),
      inputs.values_weight, inputs.values_bias, inputs.mixed_weight, inputs.mixed_bias,
      inputs.gamma.contiguous(), inputs.beta.contiguous(), inputs.weight, inputs.bias, maybe(relative.values),
      relative.first, maybe(mask), maybe(inputs.path), settings);
}

}  // namespace mega::ops
