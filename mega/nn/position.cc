#include "mega/nn/position.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "mega/base/error.h"

namespace mega::nn {
namespace {

using torch::Tensor;

constexpr double kInitialDeviation = 0.02;

Tensor offsets(int64_t first, int64_t last, const Tensor& like) {
  return torch::arange(first, last + 1, torch::TensorOptions(torch::kInt64).device(like.device()));
}

// positions (L) times frequencies 10000^(-k / (Z/2)), k = 0 .. Z/2-1, in double, as angles grow with the
// length.
Tensor angles(const Tensor& positions, int64_t half) {
  const auto options = torch::TensorOptions(torch::kFloat64).device(positions.device());
  const Tensor frequencies =
      torch::exp(torch::arange(half, options) * (-std::log(10000.0) / static_cast<double>(half)));
  return positions.to(torch::kFloat64).unsqueeze(1) * frequencies;
}

// One learned bias per offset, up to the longest sequence: the released `simple` bias.
class SimplePosition : public PositionImpl {
 public:
  explicit SimplePosition(int64_t positions) : positions_(positions) {
    table_ = register_parameter("rel_pos_bias", torch::empty({2 * positions - 1}));
    torch::nn::init::normal_(table_, 0.0, kInitialDeviation);
  }
  ops::RelativeBias bias(int64_t first, int64_t last) override {
    check_length(std::max(-first, last) + 1);
    return {table_.narrow(0, positions_ - 1 + first, last - first + 1), first};
  }
  void check_length(int64_t length) const override {
    require(length <= positions_, "the simple position bias supports ", positions_,
            " positions, the sequence has ", length,
            "; raise max_positions, attend in chunks, or use another kind of position");
  }

 private:
  int64_t positions_;
  Tensor table_;
};

// The released rotary bias: Rot(alpha)_i . Rot(beta)_j for learned alpha and beta (1, Z), which depends only
// on i - j: sum_k (a1 b1 + a2 b2) cos((i - j) theta_k) + (a1 b2 - a2 b1) sin((i - j) theta_k).
class RotaryPosition : public PositionImpl {
 public:
  explicit RotaryPosition(int64_t shared) : half_(shared / 2) {
    require(shared % 2 == 0, "the rotary bias needs an even shared width, not ", shared);
    alpha_ = register_parameter("alpha", torch::empty({1, shared}));
    beta_ = register_parameter("beta", torch::empty({1, shared}));
    torch::nn::init::normal_(alpha_, 0.0, kInitialDeviation);
    torch::nn::init::normal_(beta_, 0.0, kInitialDeviation);
  }
  ops::RelativeBias bias(int64_t first, int64_t last) override {
    const Tensor a1 = alpha_[0].narrow(0, 0, half_), a2 = alpha_[0].narrow(0, half_, half_);
    const Tensor b1 = beta_[0].narrow(0, 0, half_), b2 = beta_[0].narrow(0, half_, half_);
    const Tensor waves = table(first, last);
    return {torch::mv(waves, torch::cat({a1 * b1 + a2 * b2, a1 * b2 - a2 * b1})), first};
  }

 private:
  // cos and sin of (i - j) theta for offsets j - i from first to last. They do not depend on parameters, so
  // the table is cached and grows by doubling: a decoding step only reads rows of it.
  Tensor table(int64_t first, int64_t last) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const int64_t reach = std::max(std::abs(first), std::abs(last));
    if (!waves_.defined() || reach > reach_ || waves_.options().dtype() != alpha_.dtype() ||
        waves_.device() != alpha_.device()) {
      reach_ = std::max(reach, 2 * reach_);
      const Tensor theta = angles(-offsets(-reach_, reach_, alpha_), half_);
      waves_ = torch::cat({torch::cos(theta), torch::sin(theta)}, 1).to(alpha_.options());
    }
    return waves_.narrow(0, reach_ + first, last - first + 1);
  }

  int64_t half_, reach_ = 0;
  Tensor alpha_, beta_, waves_;
  std::mutex mutex_;  // protects waves_ and reach_
};

// T5 (Raffel et al. 2020): 32 learned biases; small offsets have one each, larger ones share logarithmic
// buckets.
class T5Position : public PositionImpl {
 public:
  explicit T5Position(bool causal) : causal_(causal) {
    table_ = register_parameter("relative_attention_bias", torch::empty({kBuckets}));
    torch::nn::init::normal_(table_, 0.0, kInitialDeviation);
  }
  ops::RelativeBias bias(int64_t first, int64_t last) override {
    const Tensor offset = offsets(first, last, table_);
    const int64_t buckets = causal_ ? kBuckets : kBuckets / 2;
    const Tensor distance = causal_ ? (-offset).clamp_min(0) : offset.abs();
    const int64_t exact = buckets / 2;
    const Tensor ratio = torch::log(distance.clamp_min(1).to(torch::kFloat64) / exact) /
                         std::log(static_cast<double>(kFarthest) / static_cast<double>(exact));
    const Tensor far = (exact + ratio * (buckets - exact)).to(torch::kInt64).clamp_max(buckets - 1);
    Tensor bucket = torch::where(distance < exact, distance, far);
    if (!causal_) bucket = bucket + (offset > 0).to(torch::kInt64) * buckets;
    return {table_.index_select(0, bucket), first};
  }

 private:
  static constexpr int64_t kBuckets = 32, kFarthest = 128;
  bool causal_;
  Tensor table_;
};

// ALiBi (Press et al. 2022): a fixed penalty of 2^-8 per position, the slope of its last head.
class AlibiPosition : public PositionImpl {
 public:
  AlibiPosition() { slope_ = register_buffer("slope", torch::full({1}, std::exp2(-8.0))); }
  ops::RelativeBias bias(int64_t first, int64_t last) override {
    return {offsets(first, last, slope_).abs().to(slope_.scalar_type()) * -slope_, first};
  }

 private:
  Tensor slope_;
};

// RoPE (Su et al. 2021): queries and keys are rotated by their position; halves are paired as in the rotary
// bias.
class RopePosition : public PositionImpl {
 public:
  explicit RopePosition(int64_t shared) : half_(shared / 2) {
    require(shared % 2 == 0, "RoPE needs an even shared width, not ", shared);
  }
  bool changes_queries() const override { return true; }
  Tensor queries(const Tensor& x, const Tensor& positions) override {
    const Tensor theta = angles(positions, half_);
    const Tensor cosine = torch::cos(theta).to(x.scalar_type()), sine = torch::sin(theta).to(x.scalar_type());
    const Tensor x1 = x.narrow(2, 0, half_), x2 = x.narrow(2, half_, half_);
    return torch::cat({x1 * cosine - x2 * sine, x2 * cosine + x1 * sine}, 2);
  }
  Tensor keys(const Tensor& x, const Tensor& positions) override { return queries(x, positions); }

 private:
  int64_t half_;
};

// TUPE (Ke et al. 2021): adds (p_i U_q) . (p_j U_k) / sqrt(Z), from learned positions p with their own
// projections, to the content score. Stored as extra columns of queries and keys, so that no L x L bias is
// built.
class TupePosition : public PositionImpl {
 public:
  TupePosition(int64_t shared, int64_t positions) : positions_(positions), shared_(shared) {
    table_ = register_parameter("positions", torch::empty({positions, shared}));
    to_query_ = register_parameter("query", torch::empty({shared, shared}));
    to_key_ = register_parameter("key", torch::empty({shared, shared}));
    torch::nn::init::normal_(table_, 0.0, kInitialDeviation);
    torch::nn::init::xavier_uniform_(to_query_);
    torch::nn::init::xavier_uniform_(to_key_);
  }
  bool changes_queries() const override { return true; }
  Tensor queries(const Tensor& x, const Tensor& positions) override {
    const double scale = 1.0 / std::sqrt(static_cast<double>(shared_));
    return append(x, positions, to_query_ * scale);
  }
  Tensor keys(const Tensor& x, const Tensor& positions) override { return append(x, positions, to_key_); }
  void check_length(int64_t length) const override {
    require(length <= positions_, "the tupe bias supports ", positions_, " positions, the sequence has ",
            length, "; raise max_positions, attend in chunks, or use another kind of position");
  }

 private:
  Tensor append(const Tensor& x, const Tensor& positions, const Tensor& projection) const {
    const Tensor rows = torch::matmul(table_.index_select(0, positions), projection);
    return torch::cat({x, rows.unsqueeze(0).expand({x.size(0), -1, -1})}, 2);
  }

  int64_t positions_, shared_;
  Tensor table_, to_query_, to_key_;
};

}  // namespace

ops::RelativeBias PositionImpl::bias(int64_t, int64_t) { return {}; }
Tensor PositionImpl::queries(const Tensor& x, const Tensor&) { return x; }
Tensor PositionImpl::keys(const Tensor& x, const Tensor&) { return x; }
void PositionImpl::check_length(int64_t) const {}

std::shared_ptr<PositionImpl> make_position(PositionKind kind, int64_t shared, int64_t positions,
                                            bool causal) {
  switch (kind) {
    case PositionKind::none:
      return std::make_shared<PositionImpl>();
    case PositionKind::simple:
      return std::make_shared<SimplePosition>(positions);
    case PositionKind::rotary:
      return std::make_shared<RotaryPosition>(shared);
    case PositionKind::t5:
      return std::make_shared<T5Position>(causal);
    case PositionKind::rope:
      return std::make_shared<RopePosition>(shared);
    case PositionKind::alibi:
      return std::make_shared<AlibiPosition>();
    case PositionKind::tupe:
      return std::make_shared<TupePosition>(shared, positions);
  }
  fail("unknown kind of position");
}

}  // namespace mega::nn
