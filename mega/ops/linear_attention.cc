#include "mega/ops/linear_attention.h"

#include <algorithm>
#include <vector>

#include "mega/base/error.h"
#include "mega/ops/form.h"
#include "mega/ops/heads.h"
#include "mega/ops/matmul.h"
#include "mega/ops/maybe.h"
#include "mega/ops/parallel.h"
#include "mega/ops/phase.h"
#include "mega/ops/saved.h"

namespace mega::ops {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kReluOffset = 1e-3;
// Added to each sum of features in the divisor of causal attention, as in performer-pytorch.
constexpr double kCausalOffset = 1e-6;

// ---- reference -------------------------------------------------------------------------------------------

Tensor features(const Tensor& x, bool relu) { return relu ? torch::relu(x) + kReluOffset : x; }

Tensor reference(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                 const LinearAttentionSettings& settings) {
  const int64_t heads = settings.heads;
  const auto by_head = [&](const Tensor& x) { return split_heads(x, heads).flatten(0, 1); };
  Tensor fk = features(k, settings.relu);
  if (mask.defined()) fk = fk.masked_fill(mask.unsqueeze(2), 0);
  const Tensor qs = by_head(features(q, settings.relu)), ks = by_head(fk), vs = by_head(v);
  Tensor numerator, divisor;
  if (settings.causal) {
    numerator = causal_products(qs, ks, vs);
    divisor = (qs * (ks.cumsum(1) + kCausalOffset)).sum(2, true);
  } else {
    numerator = torch::matmul(qs, torch::matmul(ks.transpose(1, 2), vs));
    divisor = torch::matmul(qs, ks.sum(1).unsqueeze(2));
  }
  const Tensor y =
      torch::where(divisor > 0, numerator / divisor.clamp_min(1e-30), torch::zeros_like(divisor));
  return join_heads(y.view({q.size(0), heads, q.size(1), -1}));
}

// ---- fused -----------------------------------------------------------------------------------------------

// Positions whose features are in memory at once.
constexpr int64_t kTile = 256;

// Features of rows [begin, end), (rows, M), zero at padding; a buffer for one thread.
class FeatureTile {
 public:
  FeatureTile(int64_t columns, bool relu)
      : values_(static_cast<size_t>(kTile * columns)), columns_(columns), relu_(relu) {}

  const float* fill(const HeadRows& x, int64_t begin, int64_t end, const bool* padding = nullptr) {
    for (int64_t i = begin; i < end; ++i) {
      const float* from = x.row(i);
      float* to = values_.data() + (i - begin) * columns_;
      if (padding != nullptr && padding[i])
        std::fill(to, to + columns_, 0.0f);
      else if (relu_)
        for (int64_t m = 0; m < columns_; ++m)
          to[m] = std::max(from[m], 0.0f) + static_cast<float>(kReluOffset);
      else
        std::copy(from, from + columns_, to);
    }
    return values_.data();
  }

  // Turns gradients (rows, M) of the features into those of x.
  void backward(const HeadRows& x, int64_t begin, int64_t end, const bool* padding,
                const HeadRows& dx) const {
    for (int64_t i = begin; i < end; ++i) {
      const bool hidden = padding != nullptr && padding[i];
      for (int64_t m = 0; m < columns_; ++m)
        if (hidden || (relu_ && x.row(i)[m] <= 0.0f)) dx.row(i)[m] = 0.0f;
    }
  }

 private:
  std::vector<float> values_;
  int64_t columns_;
  bool relu_;
};

template <class Body>
void for_tiles(int64_t length, const Body& body) {
  for (int64_t begin = 0; begin < length; begin += kTile) body(begin, std::min(length, begin + kTile));
}

float dot(const float* a, const float* b, int64_t count) {
  float sum = 0.0f;
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

void add_scaled(const float* x, float factor, float* sum, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sum[i] += factor * x[i];
}

// The padding of the sequence of head n.
const bool* padding_of(const Tensor& mask, int64_t n, int64_t heads) {
  return mask.defined() ? mask.data_ptr<bool>() + n / heads * mask.size(1) : nullptr;
}

struct FusedLinearAttention : torch::autograd::Function<FusedLinearAttention> {
  static Tensor forward(AutogradContext* context, const Tensor& q, const Tensor& k, const Tensor& v,
                        const MaybeTensor& given_mask, const LinearAttentionSettings& settings) {
    const PhaseMark mark(Phase::attention);
    const Tensor qc = q.contiguous(), kc = k.contiguous(), vc = v.contiguous(),
                 mask = tensor_of(given_mask).defined() ? tensor_of(given_mask).contiguous() : Tensor();
    const int64_t heads = settings.heads, count = q.size(0) * heads, length = q.size(1);
    const int64_t m = q.size(2) / heads, e = v.size(2) / heads;
    Tensor out = torch::empty({q.size(0), length, v.size(2)}, q.options());
    // Sums over keys of f(k) v^T (M, V) and of f(k) (M), and the divisor of each query.
    Tensor products = torch::zeros({count, m, e}, q.options()), sums = torch::zeros({count, m}, q.options()),
           divisor = torch::empty({count, length}, q.options());
    const auto rows = [&](const Tensor& x, int64_t n) { return head_rows(x, n / heads, n % heads, heads); };
    parallel_for(0, count, 1, [&](int64_t first, int64_t last) {
      FeatureTile tile(m, settings.relu);
      for (int64_t n = first; n < last; ++n) {
        float *product = products.data_ptr<float>() + n * m * e, *sum = sums.data_ptr<float>() + n * m;
        const HeadRows query = rows(qc, n), key = rows(kc, n), value = rows(vc, n), output = rows(out, n);
        for_tiles(length, [&](int64_t begin, int64_t end) {
          const float* f = tile.fill(key, begin, end, padding_of(mask, n, heads));
          matmul(m, e, end - begin, {f, m, true}, {value.row(begin), value.stride}, product, e,
                 {.accumulate = true});
          for (int64_t i = 0; i < end - begin; ++i) add_scaled(f + i * m, 1.0f, sum, m);
        });
        for_tiles(length, [&](int64_t begin, int64_t end) {
          const float* f = tile.fill(query, begin, end);
          matmul(end - begin, e, m, {f, m}, {product, e}, output.row(begin), output.stride);
          for (int64_t i = begin; i < end; ++i) {
            const float d = dot(f + (i - begin) * m, sum, m);
            divisor.data_ptr<float>()[n * length + i] = d;
            const float factor = d > 0.0f ? 1.0f / d : 0.0f;
            for (int64_t c = 0; c < e; ++c) output.row(i)[c] *= factor;
          }
        });
      }
    });
    context->save_for_backward({qc, kc, vc, mask, out, products, sums, divisor});
    save(context, settings);
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    require_first_derivative("linear attention");
    const PhaseMark mark(Phase::attention);
    const auto kept = context->get_saved_variables();
    const Tensor &q = kept[0], &k = kept[1], &v = kept[2], &mask = kept[3];
    const auto settings = saved<LinearAttentionSettings>(context);
    const Tensor dout = gradients[0].contiguous();
    const int64_t heads = settings.heads, count = q.size(0) * heads, length = q.size(1);
    const int64_t m = q.size(2) / heads, e = v.size(2) / heads;
    Tensor dq = torch::empty_like(q), dk = torch::empty_like(k), dv = torch::empty_like(v);
    const auto rows = [&](const Tensor& x, int64_t n) { return head_rows(x, n / heads, n % heads, heads); };
    parallel_for(0, count, 1, [&](int64_t first, int64_t last) {
      FeatureTile tile(m, settings.relu);
      // Gradients of the numerators of a tile (rows, V), of the sums (M, V) and (M).
      std::vector<float> dn(static_cast<size_t>(kTile * e)), d_product, d_sum;
      for (int64_t n = first; n < last; ++n) {
        const float *product = kept[5].data_ptr<float>() + n * m * e,
                    *sum = kept[6].data_ptr<float>() + n * m,
                    *divisor = kept[7].data_ptr<float>() + n * length;
        const bool* padding = padding_of(mask, n, heads);
        d_product.assign(static_cast<size_t>(m * e), 0.0f);
        d_sum.assign(static_cast<size_t>(m), 0.0f);
        const HeadRows query = rows(q, n), key = rows(k, n), value = rows(v, n), output = rows(kept[4], n),
                       d_output = rows(dout, n), d_query = rows(dq, n), d_key = rows(dk, n),
                       d_value = rows(dv, n);
        for_tiles(length, [&](int64_t begin, int64_t end) {
          const float* f = tile.fill(query, begin, end);
          for (int64_t i = begin; i < end; ++i) {
            const float factor = divisor[i] > 0.0f ? 1.0f / divisor[i] : 0.0f;
            for (int64_t c = 0; c < e; ++c)
              dn[static_cast<size_t>((i - begin) * e + c)] = d_output.row(i)[c] * factor;
          }
          matmul(m, e, end - begin, {f, m, true}, {dn.data(), e}, d_product.data(), e, {.accumulate = true});
          matmul(end - begin, m, e, {dn.data(), e}, {product, e, true}, d_query.row(begin), d_query.stride);
          for (int64_t i = begin; i < end; ++i) {
            const float dd = -dot(dn.data() + (i - begin) * e, output.row(i), e);
            add_scaled(f + (i - begin) * m, dd, d_sum.data(), m);
            add_scaled(sum, dd, d_query.row(i), m);
          }
          tile.backward(query, begin, end, nullptr, d_query);
        });
        for_tiles(length, [&](int64_t begin, int64_t end) {
          const float* f = tile.fill(key, begin, end, padding);
          matmul(end - begin, e, m, {f, m}, {d_product.data(), e}, d_value.row(begin), d_value.stride);
          matmul(end - begin, m, e, {value.row(begin), value.stride}, {d_product.data(), e, true},
                 d_key.row(begin), d_key.stride);
          for (int64_t i = begin; i < end; ++i) add_scaled(d_sum.data(), 1.0f, d_key.row(i), m);
          tile.backward(key, begin, end, padding, d_key);
        });
      }
    });
    return {dq, dk, dv, Tensor(), Tensor()};
  }
};

}  // namespace

// In chunks, so that the sums of all positions are never in memory at
// once: within a chunk by scores, earlier chunks by their sum.
Tensor causal_products(const Tensor& q, const Tensor& k, const Tensor& v) {
  constexpr int64_t kChunk = 64;
  const int64_t length = q.size(1), chunks = (length + kChunk - 1) / kChunk;
  const auto fold = [&](const Tensor& x) {
    return torch::constant_pad_nd(x, {0, 0, 0, chunks * kChunk - length})
        .view({x.size(0), chunks, kChunk, x.size(2)});
  };
  const Tensor qs = fold(q), ks = fold(k), vs = fold(v);
  const Tensor scores = torch::matmul(qs, ks.transpose(2, 3)).tril();
  const Tensor before = sums_before(torch::matmul(ks.transpose(2, 3), vs));
  const Tensor y = torch::matmul(scores, vs) + torch::matmul(qs, before);
  return y.view({q.size(0), chunks * kChunk, v.size(2)}).narrow(1, 0, length);
}

// Not cumsum - x, whose rounding would let later positions of a chunk be seen.
Tensor sums_before(const Tensor& x) {
  return torch::constant_pad_nd(x.narrow(1, 0, x.size(1) - 1).cumsum(1), {0, 0, 0, 0, 1, 0});
}

Tensor linear_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                        const LinearAttentionSettings& settings) {
  const int64_t heads = settings.heads;
  require(heads >= 1 && q.dim() == 3 && v.dim() == 3 && q.sizes() == k.sizes() && q.size(0) == v.size(0) &&
              q.size(1) == v.size(1) && q.size(2) % heads == 0 && v.size(2) % heads == 0,
          "linear attention: queries ", q.sizes(), ", keys ", k.sizes(), " and values ", v.sizes(),
          " must be (B, L, M), (B, L, M) and (B, L, V), M and V multiples of the number of heads, ", heads);
  require(!mask.defined() || (mask.scalar_type() == torch::kBool && mask.dim() == 2 &&
                              mask.size(0) == q.size(0) && mask.size(1) == q.size(1)),
          "linear attention: the mask must be boolean (B, L), true for padding");
  if (settings.causal || !use_fused(q)) return reference(q, k, v, mask, settings);
  return FusedLinearAttention::apply(q, k, v, maybe(mask), settings);
}

}  // namespace mega::ops
