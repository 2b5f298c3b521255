#include "mega/ops/gathered_attention.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "mega/base/error.h"
#include "mega/kernels/attention.h"
#include "mega/ops/form.h"
#include "mega/ops/heads.h"
#include "mega/ops/maybe.h"
#include "mega/ops/parallel.h"
#include "mega/ops/phase.h"
#include "mega/ops/saved.h"

namespace mega::ops {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// ---- reference -------------------------------------------------------------------------------------------

// Rows (B, H, groups, n) of x (B, H, L, X): (B, H, groups, n, X).
Tensor gather_rows(const Tensor& x, const Tensor& rows) {
  const Tensor index = rows.clamp_min(0).flatten(2).unsqueeze(3).expand({-1, -1, -1, x.size(3)});
  return x.gather(2, index).view({x.size(0), x.size(1), rows.size(2), rows.size(3), x.size(3)});
}

Tensor reference(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionGroups& groups,
                 const Tensor& mask, const GatheredAttentionSettings& settings) {
  const int64_t batch = q.size(0), heads = settings.heads;
  const auto of_batch = [&](const Tensor& rows) { return rows.expand({batch, -1, -1, -1}); };
  const Tensor queries = of_batch(groups.queries), keys = of_batch(groups.keys);
  Tensor hidden = keys < 0;  // (B, H, groups, keys)
  if (mask.defined())
    hidden = hidden | gather_rows(mask.view({batch, 1, -1, 1}).expand({-1, heads, -1, -1}), keys).squeeze(4);
  hidden = hidden.unsqueeze(3);
  const Tensor blind = hidden.all(4, true);
  const Tensor scores = torch::matmul(gather_rows(split_heads(q, heads), queries),
                                      gather_rows(split_heads(k, heads), keys).transpose(3, 4)) *
                        settings.scale;
  Tensor weights =
      torch::softmax(scores.masked_fill(hidden & ~blind, -std::numeric_limits<double>::infinity()), -1)
          .masked_fill(blind, 0);
  if (settings.dropout.active())
    weights = weights *
              dropout_mask(settings.dropout, weights.numel() / weights.size(4), weights.size(4), q.options())
                  .view_as(weights);
  const Tensor out = torch::matmul(weights, gather_rows(split_heads(v, heads), keys));
  // Queries that are not there are added to a row of their own.
  const Tensor rows = queries.masked_fill(queries < 0, q.size(1)).flatten(2).unsqueeze(3);
  const Tensor sum = torch::zeros({batch, heads, q.size(1) + 1, v.size(2) / heads}, q.options())
                         .scatter_add(2, rows.expand({-1, -1, -1, out.size(4)}), out.flatten(2, 3));
  return join_heads(sum.narrow(2, 0, q.size(1)));
}

// ---- fused -----------------------------------------------------------------------------------------------

void gather(const HeadRows& x, const int64_t* rows, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i, to += x.width) {
    if (rows[i] < 0)
      std::fill(to, to + x.width, 0.0f);
    else
      std::copy(x.row(rows[i]), x.row(rows[i]) + x.width, to);
  }
}

void scatter(const float* from, const int64_t* rows, int64_t count, const HeadRows& x) {
  for (int64_t i = 0; i < count; ++i, from += x.width) std::copy(from, from + x.width, x.row(rows[i]));
}

void scatter_add(const float* from, const int64_t* rows, int64_t count, const HeadRows& x) {
  for (int64_t i = 0; i < count; ++i, from += x.width) {
    if (rows[i] < 0) continue;
    float* to = x.row(rows[i]);
    for (int64_t c = 0; c < x.width; ++c) to[c] += from[c];
  }
}

// The groups of a batch, and the buffers of one thread for one of them.
class GroupBuffers {
 public:
  GroupBuffers(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionGroups& groups,
               const Tensor& mask, const GatheredAttentionSettings& settings)
      : q_(q), k_(k), v_(v), mask_(mask), groups_(groups), settings_(settings) {
    const int64_t n = groups.queries.size(3), m = groups.keys.size(3);
    const int64_t z = q.size(2) / settings.heads, e = v.size(2) / settings.heads;
    const auto buffer = [&](int64_t rows, int64_t columns) {
      return torch::empty({rows, columns}, q.options());
    };
    queries = buffer(n, z), keys = buffer(m, z), values = buffer(m, e);
    scratch = torch::empty({kernels::attention_scratch(n, z, e)}, q.options());
    padding_.resize(static_cast<size_t>(m));
  }

  // Gathers group g of head h of sequence b.
  kernels::AttentionBlock block(int64_t b, int64_t h, int64_t g) {
    const int64_t heads = settings_.heads, groups = groups_.queries.size(2);
    const auto rows = [&](const Tensor& index) {
      const int64_t row = ((index.size(0) == 1 ? 0 : b) * heads + h) * groups + g;
      return index.data_ptr<int64_t>() + row * index.size(3);
    };
    query_rows = rows(groups_.queries), key_rows = rows(groups_.keys);
    kernels::AttentionBlock block;
    const int64_t places = groups_.queries.size(3);
    block.queries =
        std::find_if(query_rows, query_rows + places, [](int64_t row) { return row < 0; }) - query_rows;
    block.keys = groups_.keys.size(3);
    gather(head_rows(q_, b, h, heads), query_rows, block.queries, queries.data_ptr<float>());
    gather(head_rows(k_, b, h, heads), key_rows, block.keys, keys.data_ptr<float>());
    gather(head_rows(v_, b, h, heads), key_rows, block.keys, values.data_ptr<float>());
    const bool* padding = mask_.defined() ? mask_.data_ptr<bool>() + b * mask_.size(1) : nullptr;
    for (int64_t j = 0; j < block.keys; ++j)
      padding_[static_cast<size_t>(j)] = key_rows[j] < 0 || (padding != nullptr && padding[key_rows[j]]);
    block.q = queries.data_ptr<float>(), block.k = keys.data_ptr<float>(), block.v = values.data_ptr<float>();
    block.shared = block.q_stride = block.k_stride = queries.size(1);
    block.values = block.v_stride = values.size(1);
    block.scale = static_cast<float>(settings_.scale);
    block.padding = padding_.data();
    block.dropout = settings_.dropout;
    block.dropout_row = static_cast<uint64_t>(((b * heads + h) * groups + g) * places);
    return block;
  }

  Tensor queries, keys, values, scratch;
  const int64_t *query_rows = nullptr, *key_rows = nullptr;

 private:
  const Tensor &q_, &k_, &v_, &mask_;
  const AttentionGroups& groups_;
  const GatheredAttentionSettings& settings_;
  std::vector<uint8_t> padding_;
};

struct FusedGatheredAttention : torch::autograd::Function<FusedGatheredAttention> {
  static Tensor forward(AutogradContext* context, const Tensor& q, const Tensor& k, const Tensor& v,
                        const Tensor& query_rows, const Tensor& key_rows, const MaybeTensor& given_mask,
                        const GatheredAttentionSettings& settings) {
    const PhaseMark mark(Phase::attention);
    const Tensor qc = q.contiguous(), kc = k.contiguous(), vc = v.contiguous();
    const AttentionGroups groups{query_rows.contiguous(), key_rows.contiguous()};
    const Tensor mask = tensor_of(given_mask).defined() ? tensor_of(given_mask).contiguous() : Tensor();
    const int64_t heads = settings.heads, count = groups.queries.size(2), places = groups.queries.size(3);
    Tensor out = torch::zeros({q.size(0), q.size(1), v.size(2)}, q.options());
    Tensor normalizer = torch::empty({q.size(0) * heads, count, places}, q.options());
    parallel_for(0, q.size(0) * heads, 1, [&](int64_t begin, int64_t end) {
      GroupBuffers buffers(qc, kc, vc, groups, mask, settings);
      Tensor result = torch::empty({places, buffers.values.size(1)}, q.options());
      for (int64_t n = begin; n < end; ++n) {
        const int64_t b = n / heads, h = n % heads;
        for (int64_t g = 0; g < count; ++g) {
          const auto block = buffers.block(b, h, g);
          kernels::attention_forward(block, 0, block.queries, result.data_ptr<float>(), block.values,
                                     normalizer.data_ptr<float>() + (n * count + g) * places,
                                     buffers.scratch.data_ptr<float>());
          scatter(result.data_ptr<float>(), buffers.query_rows, block.queries, head_rows(out, b, h, heads));
        }
      }
    });
    context->save_for_backward({qc, kc, vc, groups.queries, groups.keys, mask, out, normalizer});
    save(context, settings);
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    require_first_derivative("gathered attention");
    const PhaseMark mark(Phase::attention);
    constexpr int64_t kKeys = 128;
    const auto kept = context->get_saved_variables();
    const Tensor &q = kept[0], &k = kept[1], &v = kept[2], &mask = kept[5], &out = kept[6];
    const AttentionGroups groups{kept[3], kept[4]};
    const auto settings = saved<GatheredAttentionSettings>(context);
    const Tensor dout = gradients[0].contiguous();
    const int64_t heads = settings.heads, count = groups.queries.size(2), places = groups.queries.size(3);
    const Tensor dq = torch::zeros_like(q), dk = torch::zeros_like(k), dv = torch::zeros_like(v);
    // A head's groups share keys, so that one thread has them all.
    parallel_for(0, q.size(0) * heads, 1, [&](int64_t begin, int64_t end) {
      GroupBuffers buffers(q, k, v, groups, mask, settings);
      Tensor dqs = torch::empty_like(buffers.queries), dks = torch::empty_like(buffers.keys),
             dvs = torch::empty_like(buffers.values),
             outs = torch::empty({places, buffers.values.size(1)}, q.options()),
             douts = torch::empty_like(outs);
      for (int64_t n = begin; n < end; ++n) {
        const int64_t b = n / heads, h = n % heads;
        for (int64_t g = 0; g < count; ++g) {
          const auto block = buffers.block(b, h, g);
          gather(head_rows(out, b, h, heads), buffers.query_rows, block.queries, outs.data_ptr<float>());
          gather(head_rows(dout, b, h, heads), buffers.query_rows, block.queries, douts.data_ptr<float>());
          dqs.zero_();
          kernels::AttentionGradients d;
          d.out = outs.data_ptr<float>(), d.dout = douts.data_ptr<float>();
          d.normalizer = kept[7].data_ptr<float>() + (n * count + g) * places;
          d.dq = dqs.data_ptr<float>(), d.dk = dks.data_ptr<float>(), d.dv = dvs.data_ptr<float>();
          d.dq_stride = d.dk_stride = block.shared;
          d.out_stride = d.dout_stride = d.dv_stride = block.values;
          for (int64_t first = 0; first < block.keys; first += kKeys)
            kernels::attention_backward(block, first, std::min(block.keys, first + kKeys), d,
                                        buffers.scratch.data_ptr<float>());
          scatter(d.dq, buffers.query_rows, block.queries, head_rows(dq, b, h, heads));
          scatter_add(d.dk, buffers.key_rows, block.keys, head_rows(dk, b, h, heads));
          scatter_add(d.dv, buffers.key_rows, block.keys, head_rows(dv, b, h, heads));
        }
      }
    });
    return {dq, dk, dv, Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor gathered_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionGroups& groups,
                          const Tensor& mask, const GatheredAttentionSettings& settings) {
  const int64_t heads = settings.heads;
  require(heads >= 1 && q.dim() == 3 && k.dim() == 3 && v.dim() == 3 && q.size(0) == k.size(0) &&
              k.size(0) == v.size(0) && q.size(2) == k.size(2) && k.size(1) == v.size(1) &&
              q.size(2) % heads == 0 && v.size(2) % heads == 0,
          "gathered attention: queries ", q.sizes(), ", keys ", k.sizes(), " and values ", v.sizes(),
          " must be (B, Q, Z), (B, K, Z) and (B, K, V), Z and V multiples of the number of heads, ", heads);
  const auto check_rows = [&](const char* what, const Tensor& rows, int64_t length) {
    require(rows.scalar_type() == torch::kInt64 && rows.dim() == 4 && rows.numel() > 0 &&
                (rows.size(0) == 1 || rows.size(0) == q.size(0)) && rows.size(1) == heads &&
                rows.size(2) == groups.queries.size(2) && rows.max().item<int64_t>() < length,
            "gathered attention: the ", what, " of groups must be int64 (B or 1, H, groups, rows) below ",
            length, ", not ", rows.sizes(), " ", rows.scalar_type());
  };
  check_rows("queries", groups.queries, q.size(1));
  check_rows("keys", groups.keys, k.size(1));
  require(!mask.defined() || (mask.scalar_type() == torch::kBool && mask.dim() == 2 &&
                              mask.size(0) == k.size(0) && mask.size(1) == k.size(1)),
          "gathered attention: the mask must be boolean (B, K), true for padding");
  if (!use_fused(q)) return reference(q, k, v, groups, mask, settings);
  return FusedGatheredAttention::apply(q, k, v, groups.queries, groups.keys, maybe(mask), settings);
}

}  // namespace mega::ops
