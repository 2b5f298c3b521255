#include "mega/baselines/arena_attention.h"

#include "mega/ops/attention.h"
#include "mega/ops/linear.h"

namespace mega::baselines {
namespace {

using torch::Tensor;

class FullAttention : public ProjectedAttention {
 public:
  explicit FullAttention(const ArenaTransformerOptions& options)
      : ProjectedAttention(options.width), heads_(options.heads), dropout_(options.attention_dropout) {}

 private:
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) override {
    ops::AttentionSettings settings;
    settings.heads = heads_;
    settings.dropout = ops::draw_dropout(dropout_, is_training());
    return ops::attention(q, k, v, {}, mask, settings);
  }

  int64_t heads_;
  double dropout_;
};

}  // namespace

torch::nn::Linear arena_projection(int64_t width) {
  return torch::nn::Linear(torch::nn::LinearOptions(width, width).bias(false));
}

ProjectedAttention::ProjectedAttention(int64_t width)
    : query_(arena_projection(width)),
      key_(arena_projection(width)),
      value_(arena_projection(width)),
      out_(arena_projection(width)) {
  register_module("query", query_);
  register_module("key", key_);
  register_module("value", value_);
  register_module("out", out_);
}

Tensor ProjectedAttention::forward(const Tensor& x, const Tensor& mask) {
  const Tensor q = ops::linear(x, query_->weight, {}), k = ops::linear(x, key_->weight, {}),
               v = ops::linear(x, value_->weight, {});
  return ops::linear(attend(q, k, v, mask), out_->weight, {});
}

std::shared_ptr<ArenaAttention> make_attention(const ArenaTransformerOptions& options, int64_t) {
  return std::make_shared<FullAttention>(options);
}

}  // namespace mega::baselines
