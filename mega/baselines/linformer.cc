#include "mega/baselines/linformer.h"

#include "mega/baselines/arena_attention.h"
#include "mega/nn/stack.h"
#include "mega/ops/attention.h"

namespace mega::baselines {
namespace {

using torch::Tensor;

class LinformerAttention : public ProjectedAttention {
 public:
  explicit LinformerAttention(const LinformerOptions& options)
      : ProjectedAttention(options.width),
        arena_padding_(options.arena_padding),
        heads_(options.heads),
        dropout_(options.attention_dropout) {
    kernel_ = register_parameter("lr_kernel",
                                 torch::empty({options.positions(options.max_positions), options.rank}));
    torch::nn::init::xavier_uniform_(kernel_);
  }

 private:
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask) override {
    return linformer_attention(q, k, v, kernel_, kernel_, arena_padding_ ? Tensor() : mask, heads_,
                               ops::draw_dropout(dropout_, is_training()));
  }

  bool arena_padding_;
  int64_t heads_;
  double dropout_;
  Tensor kernel_;  // (positions, R), of keys and of values
};

}  // namespace

Tensor linformer_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& key_projection,
                           const Tensor& value_projection, const Tensor& mask, int64_t heads,
                           const ops::Dropout& dropout) {
  const auto project = [&](const Tensor& x, const Tensor& projection) {
    return torch::matmul(projection.narrow(0, 0, x.size(1)).t(), nn::zero_padding(x, mask));
  };
  ops::AttentionSettings settings;
  settings.heads = heads;
  settings.dropout = dropout;
  return ops::attention(q, project(k, key_projection), project(v, value_projection), {}, {}, settings);
}

std::shared_ptr<ArenaAttention> make_attention(const LinformerOptions& options, int64_t) {
  return std::make_shared<LinformerAttention>(options);
}

}  // namespace mega::baselines
