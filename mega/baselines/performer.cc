#include "mega/baselines/performer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mega/baselines/arena_attention.h"
#include "mega/ops/heads.h"
#include "mega/ops/linear_attention.h"

namespace mega::baselines {
namespace {

using torch::Tensor;

// Added to each feature, as in performer-pytorch.
constexpr double kFeatureOffset = 1e-4;

class PerformerAttention : public ProjectedAttention {
 public:
  explicit PerformerAttention(const PerformerOptions& options)
      : ProjectedAttention(options.width),
        relu_(options.kernel == PerformerKernel::relu),
        arena_padding_(options.arena_padding),
        heads_(options.heads) {
    // Drawn once, where the published programs draw anew every so often in training.
    if (!relu_)
      projection_ =
          register_buffer("projection", orthogonal_features(options.features, options.width / options.heads));
  }

 private:
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& given_mask) override {
    const Tensor mask = arena_padding_ ? Tensor() : given_mask;
    const ops::LinearAttentionSettings settings{heads_, /*causal=*/false, relu_};
    if (relu_) return ops::linear_attention(q, k, v, mask, settings);
    return ops::linear_attention(favor_features(q, projection_, heads_, false),
                                 favor_features(k, projection_, heads_, true, mask), v, mask, settings);
  }

  bool relu_, arena_padding_;
  int64_t heads_;
  Tensor projection_;  // (M, E); undefined with relu
};

}  // namespace

Tensor favor_features(const Tensor& x, const Tensor& projection, int64_t heads, bool keys,
                      const Tensor& mask) {
  const int64_t width = projection.size(1);
  const double count = static_cast<double>(projection.size(0));
  const Tensor scaled = x.view({x.size(0), x.size(1), heads, width}) / std::pow(width, 0.25);
  const Tensor projected = torch::matmul(scaled, projection.t());
  Tensor seen = projected.detach();
  if (mask.defined())
    seen =
        seen.masked_fill(mask.view({x.size(0), x.size(1), 1, 1}), -std::numeric_limits<double>::infinity());
  const Tensor largest = keys ? seen.amax({1, 3}, true) : seen.amax({3}, true);
  const Tensor exponents = projected - scaled.square().sum(3, true) / 2 - largest;
  return ((torch::exp(exponents) + kFeatureOffset) / std::sqrt(count)).flatten(2);
}

Tensor orthogonal_features(int64_t features, int64_t width) {
  std::vector<Tensor> blocks;
  for (int64_t first = 0; first < features; first += width) {
    // Q of a decomposition is distributed evenly over the rotations only if R has a positive diagonal; else
    // its rows lean to one side, and so does the estimate, however many features there are.
    const auto [q, r] = torch::linalg_qr(torch::randn({width, width}));
    const Tensor rows = (q * r.diag().sign()).t();
    blocks.push_back(rows.narrow(0, 0, std::min(width, features - first)));
  }
  const Tensor lengths = torch::randn({features, width}).norm(2, 1, true);
  return torch::cat(blocks) * lengths;
}

std::shared_ptr<ArenaAttention> make_attention(const PerformerOptions& options, int64_t) {
  return std::make_shared<PerformerAttention>(options);
}

}  // namespace mega::baselines
