#include "mega/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "mega/base/error.h"
#include "mega/kernels/attention.h"
#include "mega/ops/activation.h"
#include "mega/ops/form.h"
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

// Columns per head of queries and keys that are scaled.
int64_t content_width(int64_t width, const AttentionSettings& settings) {
  return settings.content > 0 ? settings.content : width;
}

// The divisor of the content scores: sqrt(Z) for softmax, otherwise the length l of blocks with these keys
// and mask. Broadcasts over (N, Q, K).
Tensor divisor(const Tensor& q, int64_t keys, const Tensor& mask, const AttentionSettings& settings) {
  if (settings.function == AttentionFunction::softmax)
    return torch::full({1, 1, 1}, std::sqrt(static_cast<double>(content_width(q.size(2), settings))),
                       q.options());
  if (settings.causal)
    return torch::arange(1, q.size(1) + 1, q.options()).add(settings.first_position).view({1, -1, 1});
  if (mask.defined()) return (~mask).sum(1).clamp_min(1).to(q.scalar_type()).view({-1, 1, 1});
  return torch::full({1, 1, 1}, static_cast<double>(keys), q.options());
}

// ---- reference -------------------------------------------------------------------------------------------

// Attention of N independent blocks: q (N, Q, Z), k (N, K, Z), v (N, K, V), mask (N, K), dropped (N, Q, K).
Tensor attend_blocks(const Tensor& q, const Tensor& k, const Tensor& v, const RelativeBias& bias,
                     const Tensor& mask, const Tensor& dropped, const AttentionSettings& settings) {
  const int64_t queries = q.size(1), keys = k.size(1);
  const auto indices = torch::TensorOptions(torch::kInt64).device(q.device());
  const Tensor position = (torch::arange(queries, indices) + settings.first_position).unsqueeze(1);
  const Tensor offset = torch::arange(keys, indices).unsqueeze(0) - position;  // (Q, K)
  Tensor relative;
  if (bias.values.defined()) {
    // The clamp only affects offsets that the causal mask hides.
    const Tensor index = (offset - bias.first).clamp(0, bias.values.numel() - 1);
    relative = bias.values.index_select(0, index.flatten()).view({queries, keys});
  }
  const Tensor future = offset > 0;  // (Q, K)

  const int64_t content = content_width(q.size(2), settings);
  Tensor scores = torch::matmul(q.narrow(2, 0, content), k.narrow(2, 0, content).transpose(1, 2)) /
                  divisor(q, keys, mask, settings);
  if (content < q.size(2))
    scores = scores + torch::matmul(q.slice(2, content), k.slice(2, content).transpose(1, 2));
  if (relative.defined()) scores = scores + relative;

  Tensor weights;
  if (settings.function == AttentionFunction::softmax) {
    Tensor hidden = torch::zeros({1, 1, 1}, torch::kBool).to(q.device());
    if (settings.causal) hidden = future.unsqueeze(0);
    if (mask.defined()) hidden = hidden | (mask & ~mask.all(1, true)).unsqueeze(1);
    hidden = hidden.expand_as(scores);
    const Tensor blind = hidden.all(2, true);
    scores = scores.masked_fill(hidden & ~blind, -std::numeric_limits<double>::infinity());
    weights = torch::softmax(scores, -1).masked_fill(blind, 0);
  } else {
    weights = settings.function == AttentionFunction::relu2 ? relu2(scores) : laplace(scores);
    if (mask.defined()) weights = weights.masked_fill(mask.unsqueeze(1), 0);
    if (settings.causal) weights = weights.masked_fill(future, 0);
  }
  if (dropped.defined()) weights = weights * dropped;
  return torch::matmul(weights, v);
}

// (B, L, X) -> (B * L/C, C, X)
Tensor fold(const Tensor& x, int64_t chunk) {
  auto sizes = x.sizes().vec();
  sizes[0] *= sizes[1] / chunk;
  sizes[1] = chunk;
  return x.reshape(sizes);
}

// Calls body on tensors (B, L, ...) folded into blocks, first for the whole chunks and then for the
// remainder, and concatenates the results (blocks, C, X) to (B, L, X).
template <class Body>
Tensor by_chunks(const std::vector<Tensor>& tensors, int64_t chunk, const Body& body) {
  const int64_t batch = tensors[0].size(0), length = tensors[0].size(1), whole = length / chunk * chunk;
  std::vector<Tensor> results;
  for (const auto& [begin, end, size] :
       {std::tuple(int64_t{0}, whole, chunk), std::tuple(whole, length, length - whole)}) {
    if (begin == end) continue;
    std::vector<Tensor> parts;
    for (const Tensor& x : tensors) parts.push_back(x.defined() ? fold(x.slice(1, begin, end), size) : x);
    const Tensor result = body(parts);
    results.push_back(result.reshape({batch, end - begin, result.size(2)}));
  }
  return torch::cat(results, 1);
}

// One head; dropped (B, Q, columns).
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const RelativeBias& bias, const Tensor& mask,
              const Tensor& dropped, const AttentionSettings& settings) {
  const bool chunked = settings.chunk > 0 && settings.chunk < k.size(1);
  if (!chunked) return attend_blocks(q, k, v, bias, mask, dropped, settings);
  return by_chunks({q, k, v, mask, dropped}, settings.chunk, [&](const std::vector<Tensor>& part) {
    const Tensor mine = part[4].defined() ? part[4].slice(2, 0, part[1].size(1)) : part[4];
    return attend_blocks(part[0], part[1], part[2], bias, part[3], mine, settings);
  });
}

Tensor reference(const Tensor& q, const Tensor& k, const Tensor& v, const RelativeBias& bias,
                 const Tensor& mask, const AttentionSettings& settings) {
  const int64_t batch = q.size(0), length = q.size(1), heads = settings.heads;
  const bool chunked = settings.chunk > 0 && settings.chunk < k.size(1);
  const int64_t columns = chunked ? settings.chunk : k.size(1);
  Tensor dropped;
  if (settings.dropout.active())
    dropped = dropout_mask(settings.dropout, batch * heads * length, columns, q.options())
                  .view({batch, heads, length, columns});
  std::vector<Tensor> results;
  for (int64_t h = 0; h < heads; ++h) {
    const auto mine = [&](const Tensor& x) { return x.chunk(heads, 2)[static_cast<size_t>(h)]; };
    const bool own_bias = bias.values.defined() && bias.values.dim() == 2;
    results.push_back(attend(mine(q), mine(k), mine(v),
                             own_bias ? RelativeBias{bias.values[h], bias.first} : bias, mask,
                             dropped.defined() ? dropped.select(1, h) : dropped, settings));
  }
  return torch::cat(results, 2);
}

// ---- fused -----------------------------------------------------------------------------------------------

// The attention blocks of a batch: one per sequence, head and chunk.
class Blocks {
 public:
  Blocks(const Tensor& q, const Tensor& k, const Tensor& v, const RelativeBias& bias, const Tensor& mask,
         const AttentionSettings& settings)
      : q_(q), k_(k), v_(v), mask_(mask), settings_(settings), first_offset_(bias.first) {
    const bool chunked = settings.chunk > 0 && settings.chunk < k.size(1);
    size_ = chunked ? settings.chunk : std::max<int64_t>(1, k.size(1));
    per_head_ = chunked ? (k.size(1) + size_ - 1) / size_ : 1;
    if (bias.values.defined()) {
      const Tensor values = bias.values.detach().to(torch::kFloat32).view({-1, bias.values.size(-1)});
      bias_ = torch::constant_pad_nd(values, {0, kernels::kBiasSlack});
    }
  }

  int64_t count() const { return q_.size(0) * settings_.heads * per_head_; }
  int64_t head(int64_t n) const { return n / per_head_ % settings_.heads; }
  // First row of the queries and keys of block n in the flattened batch.
  int64_t query_row(int64_t n) const { return sequence(n) * q_.size(1) + first_query(n); }
  int64_t key_row(int64_t n) const { return sequence(n) * k_.size(1) + n % per_head_ * size_; }
  // The same for per-head tensors (B, H, Q).
  int64_t head_row(int64_t n) const { return n / per_head_ * q_.size(1) + first_query(n); }

  // Scratch space for one thread, enough for any block.
  Tensor scratch() const {
    const int64_t heads = settings_.heads;
    return torch::empty({kernels::attention_scratch(queries(0), q_.size(2) / heads, v_.size(2) / heads)},
                        torch::kFloat32);
  }

  // A buffer for bias gradients, and the address of offset 0 in it.
  Tensor bias_gradients(int64_t copies) const {
    return torch::zeros({copies, bias_.size(0), bias_.size(1)}, bias_.options());
  }
  float* centre(const Tensor& gradients, int64_t copy, int64_t n) const {
    return gradients.data_ptr<float>() + copy * bias_.numel() + bias_row(n) - first_offset_;
  }

  int64_t keys(int64_t n) const { return std::min(size_, k_.size(1) - n % per_head_ * size_); }
  int64_t queries(int64_t n) const { return per_head_ > 1 ? keys(n) : q_.size(1); }

  template <class T>
  kernels::AttentionBlockOf<T> block(int64_t n) const {
    kernels::AttentionBlockOf<T> block;
    block.keys = keys(n);
    block.queries = queries(n);
    block.q_stride = block.k_stride = q_.size(2);
    block.v_stride = v_.size(2);
    block.shared = q_.size(2) / settings_.heads;
    block.values = v_.size(2) / settings_.heads;
    block.q = data_of<T>(q_) + query_row(n) * block.q_stride + head(n) * block.shared;
    block.k = data_of<T>(k_) + key_row(n) * block.k_stride + head(n) * block.shared;
    block.v = data_of<T>(v_) + key_row(n) * block.v_stride + head(n) * block.values;
    block.function = settings_.function;
    block.first_position = settings_.first_position;
    block.causal = settings_.causal;
    block.dropout = settings_.dropout;
    block.dropout_row = static_cast<uint64_t>(head_row(n));
    if (bias_.defined()) block.bias = bias_.data_ptr<float>() + bias_row(n) - first_offset_;
    int64_t unpadded = block.keys;
    if (mask_.defined()) {
      block.padding = reinterpret_cast<const uint8_t*>(mask_.data_ptr<bool>()) + key_row(n);
      unpadded -= std::count_if(block.padding, block.padding + block.keys, [](uint8_t m) { return m != 0; });
    }
    if (settings_.function == AttentionFunction::softmax) {
      block.scale =
          static_cast<float>(1.0 / std::sqrt(static_cast<double>(content_width(block.shared, settings_))));
      if (unpadded == 0) block.padding = nullptr;
    } else {
      block.scale_by_position = settings_.causal;
      block.scale = settings_.causal ? 1.0f : 1.0f / static_cast<float>(std::max<int64_t>(1, unpadded));
    }
    return block;
  }

 private:
  int64_t sequence(int64_t n) const { return n / per_head_ / settings_.heads; }
  int64_t first_query(int64_t n) const { return per_head_ > 1 ? n % per_head_ * size_ : 0; }
  int64_t bias_row(int64_t n) const { return bias_.size(0) > 1 ? head(n) * bias_.size(1) : 0; }

  Tensor q_, k_, v_, mask_;
  Tensor bias_;  // (1 or H, offsets and slack)
  AttentionSettings settings_;
  int64_t first_offset_, size_, per_head_;
};

// Later causal rows cost more: walks a range from both ends, so that equal shares are equal work.
int64_t zigzag(int64_t i, int64_t count) { return i % 2 == 0 ? i / 2 : count - 1 - i / 2; }

int64_t pieces_per_block(int64_t blocks, int64_t length, int64_t tile) {
  const int64_t threads = at::get_num_threads();
  if (blocks == 0 || blocks >= 2 * threads) return 1;
  return std::max<int64_t>(1, std::min((length + tile - 1) / tile, 4 * threads / blocks));
}

struct FusedAttention : torch::autograd::Function<FusedAttention> {
  static Tensor forward(AutogradContext* context, const Tensor& q, const Tensor& k, const Tensor& v,
                        const MaybeTensor& given_bias, int64_t first_offset, const MaybeTensor& given_mask,
                        const AttentionSettings& settings) {
    const Tensor bias = tensor_of(given_bias), mask = tensor_of(given_mask);
    const bool narrow = use_bf16();
    const Tensor qc = stored(q, narrow), kc = stored(k, narrow), vc = stored(v, narrow);
    const auto result = attention_forward(qc, kc, vc, {bias, first_offset}, mask, settings);
    context->save_for_backward({qc, kc, vc, bias, mask, stored(result.out, narrow), result.normalizer});
    save(context, std::make_pair(settings, first_offset));
    return result.out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    require_first_derivative("attention");
    const auto kept = context->get_saved_variables();
    const auto [settings, first_offset] = saved<std::pair<AttentionSettings, int64_t>>(context);
    const auto d = attention_backward(kept[0], kept[1], kept[2], {kept[3], first_offset}, kept[4], settings,
                                      {kept[5], kept[6]}, stored(gradients[0], is_narrow(kept[0])));
    return {d.dq, d.dk, d.dv, d.dbias, Tensor(), Tensor(), Tensor()};
  }
};

void check(const Tensor& q, const Tensor& k, const Tensor& v, const RelativeBias& bias, const Tensor& mask,
           const AttentionSettings& settings) {
  const int64_t heads = settings.heads;
  require(heads >= 1 && q.dim() == 3 && k.dim() == 3 && v.dim() == 3 && q.size(0) == k.size(0) &&
              k.size(0) == v.size(0) && q.size(2) == k.size(2) && k.size(1) == v.size(1) &&
              q.size(2) % heads == 0 && v.size(2) % heads == 0,
          "attention: queries ", q.sizes(), ", keys ", k.sizes(), " and values ", v.sizes(),
          " must be (B, Q, Z), (B, K, Z) and (B, K, V), Z and V multiples of the number of heads, ", heads);
  require(heads == 1 || settings.content == 0, "attention: unscaled columns need a single head");
  require(!mask.defined() || (mask.scalar_type() == torch::kBool && mask.dim() == 2 &&
                              mask.size(0) == k.size(0) && mask.size(1) == k.size(1)),
          "attention: the mask must be boolean (B, K) = (", k.size(0), ", ", k.size(1),
          "), true for padding; it is ", mask.defined() ? mask.sizes() : c10::IntArrayRef());
  require(settings.chunk != 0, "attention: the chunk size must not be 0; use -1 for full attention");
  const bool chunked = settings.chunk > 0 && settings.chunk < k.size(1);
  require(!chunked || (q.size(1) == k.size(1) && settings.first_position == 0),
          "attention in chunks needs as many queries as keys, both from position 0");
  if (!bias.values.defined()) return;
  require(bias.values.dim() == 1 || (bias.values.dim() == 2 && bias.values.size(0) == heads),
          "attention: a relative bias of ", bias.values.sizes(), " must be (offsets), or (", heads,
          ", offsets) for as many heads");
  const int64_t offsets = bias.values.size(-1);
  const int64_t size = chunked ? settings.chunk : std::max(k.size(1), q.size(1));
  const int64_t last_query = settings.first_position + (chunked ? size : q.size(1)) - 1;
  const int64_t last_key = settings.causal ? 0 : (chunked ? size : k.size(1)) - 1;
  require(bias.first <= -last_query && bias.first + offsets - 1 >= last_key,
          "attention: the relative bias covers offsets ", bias.first, " to ", bias.first + offsets - 1,
          ", the sequence needs ", -last_query, " to ", last_key);
}

}  // namespace

AttentionResult attention_forward(const Tensor& q, const Tensor& k, const Tensor& v, const RelativeBias& bias,
                                  const Tensor& mask, const AttentionSettings& settings) {
  const PhaseMark mark(Phase::attention);
  constexpr int64_t kRows = 64;
  const Tensor dense_mask = mask.defined() ? mask.contiguous() : mask;
  const Blocks blocks(q, k, v, bias, dense_mask, settings);
  AttentionResult result;
  // Without keys, the kernel writes nothing.
  result.out = torch::empty({q.size(0), q.size(1), v.size(2)}, torch::kFloat32);
  if (k.size(1) == 0) result.out.zero_();
  result.normalizer = torch::empty({q.size(0), settings.heads, q.size(1)}, torch::kFloat32);
  float* out = result.out.data_ptr<float>();
  float* normalizer = result.normalizer.data_ptr<float>();
  const int64_t queries = blocks.count() == 0 ? 0 : blocks.queries(0);
  const int64_t pieces = pieces_per_block(blocks.count(), queries, kRows);
  const int64_t rows = ((queries + pieces - 1) / pieces + kRows - 1) / kRows * kRows;
  with_type_of(q, [&](auto type) {
    parallel_for(0, blocks.count() * pieces, 1, [&](int64_t begin, int64_t end) {
      const Tensor scratch = blocks.scratch();
      for (int64_t item = begin; item < end; ++item) {
        const int64_t n = item / pieces, piece = zigzag(item % pieces, pieces);
        const auto block = blocks.block<decltype(type)>(n);
        kernels::attention_forward(block, piece * rows, std::min(block.queries, (piece + 1) * rows),
                                   out + blocks.query_row(n) * block.v_stride + blocks.head(n) * block.values,
                                   block.v_stride, normalizer + blocks.head_row(n),
                                   scratch.data_ptr<float>());
      }
    });
  });
  return result;
}

AttentionDerivative attention_backward(const Tensor& q, const Tensor& k, const Tensor& v,
                                       const RelativeBias& bias, const Tensor& mask,
                                       const AttentionSettings& settings, const AttentionResult& result,
                                       const Tensor& dout, bool overwrite) {
  const PhaseMark mark(Phase::attention);
  constexpr int64_t kKeys = 128;
  const Tensor dense_mask = mask.defined() ? mask.contiguous() : mask;
  const Blocks blocks(q, k, v, bias, dense_mask, settings);
  const int64_t tiles = blocks.count() == 0 ? 0 : (blocks.keys(0) + kKeys - 1) / kKeys;
  // With few blocks, several workers share one: each takes every other key tile and accumulates its own dq.
  const int64_t workers =
      std::min<int64_t>(pieces_per_block(blocks.count(), tiles * kKeys, kKeys), at::get_num_threads());
  const Tensor dq = torch::zeros({workers, q.size(0), q.size(1), q.size(2)}, torch::kFloat32);
  const auto gradient_of = [&](const Tensor& x) {
    return overwrite && !is_narrow(x) ? x : torch::empty(x.sizes(), torch::kFloat32);
  };
  AttentionDerivative derivative{gradient_of(k), gradient_of(v), Tensor(), Tensor()};
  Tensor dbias;
  if (bias.values.defined() && bias.values.requires_grad())
    dbias = blocks.bias_gradients(at::get_num_threads());

  with_type_of(q, [&](auto type) {
    using T = decltype(type);
    parallel_for(0, blocks.count() * workers, 1, [&](int64_t begin, int64_t end) {
      const Tensor scratch = blocks.scratch();
      for (int64_t item = begin; item < end; ++item) {
        const int64_t n = item / workers, worker = item % workers;
        const auto block = blocks.block<T>(n);
        const int64_t query = blocks.query_row(n), key = blocks.key_row(n);
        const int64_t shared = blocks.head(n) * block.shared, values = blocks.head(n) * block.values;
        kernels::AttentionGradientsOf<T> g;
        g.dout_stride = g.out_stride = g.dv_stride = block.v_stride;
        g.dq_stride = g.dk_stride = block.q_stride;
        g.dout = data_of<T>(dout) + query * g.dout_stride + values;
        g.out = data_of<T>(result.out) + query * g.out_stride + values;
        g.normalizer = result.normalizer.data_ptr<float>() + blocks.head_row(n);
        g.dq = dq.data_ptr<float>() + (worker * q.size(0) * q.size(1) + query) * g.dq_stride + shared;
        g.dk = derivative.dk.data_ptr<float>() + key * g.dk_stride + shared;
        g.dv = derivative.dv.data_ptr<float>() + key * g.dv_stride + values;
        if (dbias.defined()) g.dbias = blocks.centre(dbias, at::get_thread_num(), n);
        for (int64_t t = 0; t < tiles; ++t) {
          // Tiles in rounds of 2 * workers, one from each end of a round: causal tiles cost less the later
          // they are.
          const int64_t place = t % (2 * workers);
          if (std::min(place, 2 * workers - 1 - place) != worker) continue;
          const int64_t first = t * kKeys;
          kernels::attention_backward(block, first, std::min(block.keys, first + kKeys), g,
                                      scratch.data_ptr<float>());
        }
      }
    });
  });
  derivative.dq = workers == 1 ? dq.squeeze(0) : dq.sum(0);
  if (dbias.defined())
    derivative.dbias = dbias.sum(0).narrow(1, 0, bias.values.size(-1)).view_as(bias.values);
  return derivative;
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const RelativeBias& bias,
                 const Tensor& mask, const AttentionSettings& settings) {
  check(q, k, v, bias, mask, settings);
  if (!use_fused(q)) return reference(q, k, v, bias, mask, settings);
  Tensor scaled = q;
  if (const int64_t content = settings.content; content > 0 && content < q.size(2)) {
    // The kernel divides all columns, so the unscaled ones are multiplied by the divisor first.
    const auto unscale = [&](const Tensor& rest, const Tensor& keys, const Tensor& hidden) {
      return rest * divisor(rest, keys.size(1), hidden, settings);
    };
    const Tensor rest = q.slice(2, content);
    const bool chunked = settings.chunk > 0 && settings.chunk < k.size(1);
    scaled =
        torch::cat({q.narrow(2, 0, content),
                    chunked ? by_chunks({rest, k, mask}, settings.chunk,
                                        [&](const auto& part) { return unscale(part[0], part[1], part[2]); })
                            : unscale(rest, k, mask)},
                   2);
  }
  return FusedAttention::apply(scaled, k, v, maybe(bias.values), bias.first, maybe(mask), settings);
}

}  // namespace mega::ops
