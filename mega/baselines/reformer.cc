#include "mega/baselines/reformer.h"

#include <cmath>

#include "mega/base/error.h"
#include "mega/base/random.h"
#include "mega/baselines/arena_attention.h"
#include "mega/nn/stack.h"
#include "mega/ops/gathered_attention.h"
#include "mega/ops/heads.h"
#include "mega/ops/linear.h"

namespace mega::baselines {
namespace {

using torch::Tensor;

// The score of a position for itself.
constexpr double kSelfScore = -5e4;

// Of chunks (N, chunks, n, ...): each with the one before it, the first with the last: (N, chunks, 2 n, ...).
Tensor with_previous(const Tensor& x) { return torch::cat({x, x.roll(1, 1)}, 2); }

// The order that sorts x along its last dimension.
Tensor sorting(const Tensor& x) { return std::get<1>(x.sort(-1)); }

// Rows (N, M) of x (N, L, E): (N, M, E).
Tensor select_rows(const Tensor& x, const Tensor& rows) {
  return x.gather(1, rows.unsqueeze(2).expand({-1, -1, x.size(2)}));
}

class ReformerAttention : public ArenaAttention {
 public:
  explicit ReformerAttention(const ReformerOptions& options)
      : options_(options),
        query_(register_module("query", arena_projection(options.width))),
        value_(register_module("value", arena_projection(options.width))) {
    if (options.form == ReformerForm::article) out_ = register_module("out", arena_projection(options.width));
  }

  Tensor forward(const Tensor& x, const Tensor& mask) override {
    // What stands at padding must not even decide who meets whom.
    const Tensor hidden = options_.arena_padding ? Tensor() : mask;
    const Tensor qk = nn::zero_padding(ops::linear(x, query_->weight, {}), hidden),
                 v = ops::linear(x, value_->weight, {});
    if (options_.form == ReformerForm::arena) return attend_in_arena(qk, v, hidden);
    return ops::linear(attend(qk, v, hidden), out_->weight, {});
  }

 private:
  static Tensor longer(const Tensor& x, int64_t added) { return torch::constant_pad_nd(x, {0, 0, 0, added}); }

  // With `added` positions that nothing sees.
  static Tensor hide(const Tensor& mask, const Tensor& x, int64_t added) {
    if (!mask.defined() && added == 0) return mask;
    const Tensor own =
        mask.defined() ? mask : torch::zeros({x.size(0), x.size(1)}, torch::kBool).to(x.device());
    return torch::constant_pad_nd(own, {0, added}, true);
  }

  Tensor attend_in_arena(const Tensor& qk, const Tensor& v, const Tensor& mask) const {
    const int64_t length = qk.size(1), heads = options_.heads, rest = length % options_.buckets;
    // The arena adds a whole bucket where nothing is missing, and sees what it added.
    const int64_t added = options_.arena_padding || rest > 0 ? options_.buckets - rest : 0;
    const Tensor hidden = options_.arena_padding ? mask : hide(mask, qk, added);
    const Tensor y = arena_lsh_attention(longer(qk, added), longer(v, added),
                                         rotations(1, options_.buckets, qk), hidden, heads)
                         .narrow(1, 0, length);
    // The arena reads (heads, positions) as (positions, heads), which mixes both.
    return ops::split_heads(nn::zero_padding(y, mask), heads).reshape(y.sizes());
  }

  Tensor attend(const Tensor& qk, const Tensor& v, const Tensor& mask) const {
    const int64_t length = qk.size(1), heads = options_.heads, step = 2 * options_.bucket_size;
    const int64_t added = (step - length % step) % step;
    Tensor hidden = hide(mask, qk, added);
    if (hidden.defined()) hidden = hidden.repeat_interleave(heads, 0);
    const auto by_head = [&](const Tensor& x) {
      return ops::split_heads(longer(x, added), heads).flatten(0, 1);
    };
    LshSettings settings;
    settings.bucket_size = options_.bucket_size;
    const Tensor y = lsh_attention(by_head(qk), by_head(v),
                                   rotations(options_.rounds, (length + added) / options_.bucket_size, qk),
                                   hidden, settings);
    return ops::join_heads(y.view({qk.size(0), heads, length + added, -1})).narrow(1, 0, length);
  }

  Tensor rotations(int64_t rounds, int64_t buckets, const Tensor& qk) const {
    return fixed.defined() ? fixed : draw_rotations(qk.size(2) / options_.heads, rounds, buckets, qk);
  }

  ReformerOptions options_;
  torch::nn::Linear query_, value_, out_{nullptr};
};

}  // namespace

Tensor draw_rotations(int64_t width, int64_t rounds, int64_t buckets, const Tensor& like) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(
      stream_seed(static_cast<uint64_t>(buckets), "reformer", static_cast<uint64_t>(rounds)));
  return torch::randn({width, rounds, buckets / 2}, generator, torch::TensorOptions(torch::kFloat32))
      .to(like.options());
}

// No gradient passes through the hash.
Tensor hash_buckets(const Tensor& qk, const Tensor& rotations) {
  const Tensor rotated = torch::einsum("...le,erb->...rlb", {qk.detach(), rotations});
  return torch::cat({rotated, -rotated}, -1).argmax(-1);
}

Tensor lsh_attention(const Tensor& qk, const Tensor& v, const Tensor& rotations, const Tensor& mask,
                     const LshSettings& settings) {
  const int64_t batch = qk.size(0), length = qk.size(1), rounds = rotations.size(1);
  const int64_t size = settings.bucket_size, buckets = length / size, chunks = rounds * buckets;
  require(length % (2 * size) == 0 && rotations.size(2) * 2 == buckets, "Reformer: ", length,
          " positions must be a multiple of two buckets of ", size, ", and rotations be for as many buckets");
  // All rounds together, sorted by round, bucket and position.
  const Tensor indices = torch::arange(length, qk.options().dtype(torch::kInt64));
  const Tensor round = torch::arange(rounds, indices.options()).view({1, -1, 1});
  const Tensor key = (hash_buckets(qk, rotations) + round * buckets) * length + indices;  // (N, rounds, L)
  const Tensor order = sorting(key.flatten(1)), place = sorting(order);
  const Tensor position = order % length;  // (N, rounds * L)
  const auto chunked = [&](const Tensor& x) {
    auto sizes = x.sizes().vec();
    sizes[1] = chunks;
    sizes.insert(sizes.begin() + 2, size);
    return x.reshape(sizes);
  };
  const Tensor q = chunked(select_rows(qk, position));
  const Tensor k = with_previous(torch::nn::functional::normalize(
                   q, torch::nn::functional::NormalizeFuncOptions().p(2).dim(-1))),
               values = with_previous(chunked(select_rows(v, position)));
  const Tensor at = chunked(position), seen = with_previous(at);  // positions of queries and of keys

  constexpr double kHidden = -3.4e38;
  Tensor scores = torch::matmul(q, k.transpose(2, 3)) / std::sqrt(static_cast<double>(qk.size(2)));
  if (mask.defined()) {
    const Tensor padded = chunked(mask.gather(1, position));
    scores = scores.masked_fill(padded.unsqueeze(3) | with_previous(padded).unsqueeze(2), kHidden);
  }
  if (settings.causal) scores = scores.masked_fill(at.unsqueeze(3) < seen.unsqueeze(2), kHidden);
  scores = scores.masked_fill(at.unsqueeze(3) == seen.unsqueeze(2), kSelfScore);
  if (!settings.count_duplicates) {
    // The chunk of each position in each round, (N, L, rounds).
    const Tensor chunk = place.div(size, "floor").view({batch, rounds, length}).transpose(1, 2);
    const Tensor sorted = chunked(select_rows(chunk, position));
    const Tensor own = sorted.unsqueeze(3), others = with_previous(sorted).unsqueeze(2);
    const Tensor times =
        ((own == others).sum(4) + (own == (others + 1) % chunks).sum(4)).to(qk.scalar_type());
    scores = scores - torch::log(times + 1e-9);
  }
  // Softmax within a round, and over the rounds of a position by their sums.
  const Tensor out = torch::matmul(torch::softmax(scores, -1), values).flatten(1, 2);
  const Tensor sums = torch::logsumexp(scores, -1).flatten(1).gather(1, place).view({batch, rounds, length});
  const Tensor by_round = select_rows(out, place).view({batch, rounds, length, v.size(2)});
  return (torch::softmax(sums, 1).unsqueeze(3) * by_round).sum(1);
}

Tensor arena_lsh_attention(const Tensor& qk, const Tensor& v, const Tensor& rotations, const Tensor& mask,
                           int64_t heads) {
  const int64_t length = qk.size(1), buckets = 2 * rotations.size(2);
  require(length % buckets == 0, "Reformer: ", length, " positions do not divide into ", buckets, " buckets");
  const Tensor bucket = hash_buckets(ops::split_heads(qk, heads), rotations).squeeze(2);  // (B, H, L)
  const Tensor order = sorting(bucket * length + torch::arange(length, bucket.options()));
  const Tensor queries = order.view({qk.size(0), heads, buckets, length / buckets});
  const Tensor keys = torch::cat({queries, queries.roll(1, 2)}, 3);
  const double scale = std::sqrt(static_cast<double>(qk.size(2) / heads));
  return ops::gathered_attention(qk, qk, v, {queries, keys}, mask, {heads, scale, {}});
}

std::shared_ptr<ArenaAttention> make_attention(const ReformerOptions& options, int64_t) {
  return std::make_shared<ReformerAttention>(options);
}

}  // namespace mega::baselines
