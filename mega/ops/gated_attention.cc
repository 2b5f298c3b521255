#include "mega/ops/gated_attention.h"

#include <optional>

#include "mega/kernels/gates.h"
#include "mega/ops/activation.h"
#include "mega/ops/linear.h"
#include "mega/ops/matmul.h"
#include "mega/ops/maybe.h"
#include "mega/ops/parallel.h"
#include "mega/ops/phase.h"
#include "mega/ops/precision.h"
#include "mega/ops/row_blocks.h"
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
  QueriesKeysValues(const Tensor& mixed, int64_t batch, int64_t length, const Widths& w)
      : q(torch::empty({batch, length, w.shared}, mixed.options())),
        k(torch::empty_like(q)),
        v(torch::empty({batch, length, w.values}, mixed.options())) {}
};

// Of some rows.
void make(const QueriesKeysValues& made, const RowBlock& block, const Tensor& mixed, const Tensor& values,
          const Tensor& gamma, const Tensor& beta, const GatedAttentionSettings& settings, const Widths& w) {
  with_type_of(mixed, [&](auto type) {
    using T = decltype(type);
    const Parts<const T> parts(data_of<T>(mixed), w);
    const RowsOf<T> q{data_of<T>(made.q), w.shared}, k{data_of<T>(made.k), w.shared},
        v{data_of<T>(made.v), w.values};
    const RowsOf<const T> raw{data_of<T>(values), w.values};
    parallel_rows(block, w.mixed, [&](int64_t begin, int64_t end) {
      kernels::share<T>(parts.shared, gamma.data_ptr<float>(), beta.data_ptr<float>(), q, k, begin, end,
                        w.shared);
      kernels::activate<T>(settings.activation, settings.values, raw, v, begin, end, w.values);
    });
  });
}

// attention * silu(reset) of some rows, (rows, V)
Tensor reset_attention(const RowBlock& block, const Tensor& attended, const Tensor& mixed, const Widths& w) {
  const Tensor product = torch::empty({block.rows(), w.values}, mixed.options());
  with_type_of(mixed, [&](auto type) {
    using T = decltype(type);
    const Parts<const T> parts(data_of<T>(block.of(mixed)), w);
    const RowsOf<const T> from{data_of<T>(attended) + block.begin * w.values, w.values};
    const RowsOf<T> to{data_of<T>(product), w.values};
    parallel_rows(block.rows(), w.values, [&](int64_t begin, int64_t end) {
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
    // Without prenorm, input and residual are one tensor, which is kept as it is.
    const bool one = input.is_same(residual);
    const Tensor rounded = one ? stored(input, narrow) : stored_once(input, narrow);
    const Tensor rows = rounded.view({w.rows, w.width});
    const Tensor values = torch::empty({w.rows, w.values}, average.options());
    const Tensor mixed = torch::empty({w.rows, w.mixed}, average.options());
    // Adds both biases of the candidate at once; only their sum matters.
    const Tensor biases = mixed_bias.clone();
    biases.narrow(0, w.mixed - w.width, w.width).add_(bias);
    const RowBlocks blocks(w.rows, m_weight.numel());
    const int64_t batch = residual.size(0), length = residual.size(1);
    const QueriesKeysValues made(mixed, batch, length, w);
    blocks.run([&](const RowBlock& block) {
      linear_forward(block.of(rows), v_weight, values_bias, block.of(values));
      linear_forward(
          activate_forward(block.of(average), settings.average, settings.averaged.from(block.begin)),
          m_weight, biases, block.of(mixed));
      make(made, block, mixed, values, gamma, beta, settings, w);
    });
    const auto attended =
        attention_forward(made.q, made.k, made.v, {relative, first_offset}, mask, settings.attention);
    const Tensor out = stored(attended.out, narrow);
    const Tensor y = torch::empty_like(residual);
    const Rows to{y.data_ptr<float>(), w.width};
    blocks.run([&](const RowBlock& block) {
      matmul({reset_attention(block, out, mixed, w)}, {h_weight, true}, candidate_of(block.of(mixed), w),
             {.accumulate = true});
      with_type_of(mixed, [&](auto stored_type) {
        using T = decltype(stored_type);
        const auto gate = output_gate<T>(residual, mixed, path, settings, w);
        parallel_rows(block, w.width, [&](int64_t begin, int64_t end) {
          kernels::output_gate<T>(gate, to, begin, end, w.width);
        });
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
    const Widths w(residual, gamma, h_weight);
    const AttentionResult attended{kept[12], kept[13]};
    const Tensor dy = gradients[0].contiguous();
    const bool narrow = is_narrow(mixed), one = context->saved_data["one"].toBool();
    const RowBlocks blocks(w.rows, m_weight.numel());

    // Output gate: gradients of update, candidate and residual. Then the product with the reset attention.
    const Tensor dmixed = torch::empty_like(mixed), dresidual = torch::empty_like(residual);
    Tensor dattended = torch::empty({w.rows, w.values}, mixed.options());
    PartialSums dweight(blocks, h_weight.sizes().vec());
    auto made = std::make_optional<QueriesKeysValues>(mixed, residual.size(0), residual.size(1), w);
    blocks.run([&, &settings = settings](const RowBlock& block) {
      with_type_of(mixed, [&](auto type) {
        using T = decltype(type);
        const Parts<T> dparts(data_of<T>(dmixed), w);
        const auto gate = output_gate<T>(residual, mixed, path, settings, w);
        const ConstRows from{dy.data_ptr<float>(), w.width};
        const Rows rest{dresidual.data_ptr<float>(), w.width};
        parallel_rows(block, w.width, [&](int64_t begin, int64_t end) {
          kernels::output_gate_backward<T>(gate, from, dparts.update, dparts.candidate, rest, begin, end,
                                           w.width);
        });
      });
      const Tensor dcandidate = candidate_of(block.of(dmixed), w);
      const Tensor product = block.of(made->v.view({w.rows, w.values}));  // until values take its place
      matmul({dcandidate}, {h_weight}, block.of(dattended));
      with_type_of(mixed, [&](auto type) {
        using T = decltype(type);
        const Parts<const T> parts(data_of<T>(block.of(mixed)), w);
        const Parts<T> dparts(data_of<T>(block.of(dmixed)), w);
        const auto of = [&](const Tensor& x) { return data_of<T>(x) + block.begin * w.values; };
        const RowsOf<T> d{of(dattended), w.values}, to{data_of<T>(product), w.values};
        const RowsOf<const T> out{of(attended.out), w.values}, from{d.data, d.stride};
        parallel_rows(block.rows(), w.values, [&](int64_t begin, int64_t end) {
          kernels::gate_backward<T>(out, parts.reset, from, d, dparts.reset, to, begin, end, w.values);
        });
      });
      matmul({dcandidate, true}, {product}, dweight.of(block), {.accumulate = !block.first});
      make(*made, block, mixed, values, gamma, beta, settings, w);
    });

    const Tensor dcandidate_weight = dweight.total();

    // Attention; float32 gradients of keys and values overwrite keys and values.
    const auto d = attention_backward(made->q, made->k, made->v, relative, mask, settings.attention, attended,
                                      dattended.view_as(made->v), /*overwrite=*/true);
    dattended.reset();
    made.reset();

    // Queries, keys and values; the projections of the input and of the moving average.
    const Tensor input_rows = input.view({w.rows, w.width}),
                 dresidual_rows = dresidual.view({w.rows, w.width});
    const Tensor dinput = one ? Tensor() : torch::empty({w.rows, w.width}, torch::kFloat32);
    const Tensor daveraged = torch::empty({w.rows, w.width}, torch::kFloat32);
    PartialSums dgamma(blocks, {2, w.shared}), dbeta(blocks, {2, w.shared}),
        dvalues_weight(blocks, v_weight.sizes().vec()), dvalues_bias(blocks, {w.values}),
        dmixed_weight(blocks, m_weight.sizes().vec()), dbiases(blocks, {w.mixed});
    blocks.run([&, &settings = settings](const RowBlock& block) {
      const Tensor dvalues = narrow ? torch::empty({block.rows(), w.values}, values.options())
                                    : block.of(d.dv.view({w.rows, w.values}));
      const Tensor scales = torch::zeros({pieces_of(block.rows()), 2, w.shared}, torch::kFloat32);
      const Tensor shifts = torch::zeros_like(scales);
      with_type_of(mixed, [&](auto type) {
        using T = decltype(type);
        const Parts<const T> parts(data_of<T>(block.of(mixed)), w);
        const Parts<T> dparts(data_of<T>(block.of(dmixed)), w);
        const auto of = [&](const Tensor& x, int64_t columns) {
          return ConstRows{x.data_ptr<float>() + block.begin * columns, columns};
        };
        const ConstRows dq = of(d.dq, w.shared), dk = of(d.dk, w.shared), dv = of(d.dv, w.values);
        const RowsOf<const T> raw{data_of<T>(block.of(values)), w.values};
        const RowsOf<T> to{data_of<T>(dvalues), w.values};
        const Dropout dropout = settings.values.from(block.begin);
        parallel_pieces(block.rows(), [&](int64_t piece, int64_t begin, int64_t end) {
          const int64_t own = piece * 2 * w.shared;
          kernels::share_backward<T>(parts.shared, gamma.data_ptr<float>(), dq, dk, dparts.shared,
                                     scales.data_ptr<float>() + own, shifts.data_ptr<float>() + own, begin,
                                     end, w.shared);
          kernels::activate_backward<T, T>(settings.activation, dropout, raw, dv, to, begin, end, w.values);
        });
      });
      dgamma.of(block).add_(scales.sum(0));
      dbeta.of(block).add_(shifts.sum(0));

      const Addend sum{.accumulate = !block.first};
      dvalues_bias.of(block).add_(column_sums(dvalues));
      matmul({dvalues, true}, {stored(block.of(input_rows), narrow)}, dvalues_weight.of(block), sum);
      // Without prenorm, input and residual are one tensor, and so is their gradient.
      matmul({dvalues}, {v_weight}, block.of(one ? dresidual_rows : dinput), {.accumulate = one});

      const Tensor own = block.of(average), dmixed_rows = block.of(dmixed);
      const Dropout averaged = settings.averaged.from(block.begin);
      const Tensor activated = torch::empty_like(own), daverage = block.of(daveraged);
      matmul({dmixed_rows}, {m_weight}, daverage);  // until the next line that of what is activated
      activate_backward(own, settings.average, averaged, daverage, daverage, activated);
      matmul({dmixed_rows, true}, {activated}, dmixed_weight.of(block), sum);
      dbiases.of(block).add_(column_sums(dmixed_rows));
    });
    const Tensor dmixed_bias = dbiases.total();
    return {dresidual,
            one ? Tensor() : dinput.view_as(residual),
            daveraged.view_as(residual),
            dvalues_weight.total(),
            dvalues_bias.total(),
            dmixed_weight.total(),
            dmixed_bias,
            dgamma.total(),
            dbeta.total(),
            dcandidate_weight,
            dmixed_bias.narrow(0, w.mixed - w.width, w.width).clone(),
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
