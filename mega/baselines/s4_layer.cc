#include "mega/baselines/s4_layer.h"

#include "mega/base/error.h"
#include "mega/nn/stack.h"
#include "mega/ops/activation.h"
#include "mega/ops/check.h"
#include "mega/ops/dropout.h"
#include "mega/ops/linear.h"
#include "mega/ops/long_convolution.h"

namespace mega::baselines {

using torch::Tensor;

S4LayerImpl::S4LayerImpl(const StateSpaceOptions& options, std::shared_ptr<StateSpaceKernel> kernel)
    : options_(options), kernel_(std::move(kernel)) {
  auto layer = std::make_shared<torch::nn::Module>();
  skip_ = layer->register_parameter("D", torch::randn({1, options.width}));
  layer->register_module("kernel", kernel_);
  register_module("layer", layer);
  output_ = torch::nn::Linear(options.width, options.glu ? 2 * options.width : options.width);
  torch::nn::ModuleList map;
  map->push_back(output_);
  register_module("output_linear", map);
}

Tensor S4LayerImpl::filtered(const Tensor& x, const Tensor& mask, Tensor* state) {
  if (state != nullptr) {
    require(!options_.bidirectional,
            "a bidirectional state space layer cannot carry a state: it depends on future inputs");
    const Tensor input = nn::zero_padding(x, mask);
    return kernel_->carry(input, *state) + skip_ * input;
  }
  const auto [past, future] = kernel_->kernels(x.size(1));
  // The skip is one more term of the kernel's first lag.
  const Tensor with_skip = past + torch::constant_pad_nd(skip_.t(), {0, x.size(1) - 1});
  return ops::long_convolution(x, with_skip, future, mask);
}

Tensor S4LayerImpl::forward(const Tensor& x, const Tensor& mask, Tensor* state) {
  ops::check_sequence("state space layer", x, options_.width, output_->weight);
  ops::check_mask("state space layer", mask, x.size(0), x.size(1));
  const Tensor y = filtered(x, mask, state);
  const auto inside = ops::draw_dropout(options_.dropout, is_training()),
             after = ops::draw_dropout(options_.dropout, is_training());
  Tensor mixed;
  if (options_.feature_dropout) {
    const Tensor active = ops::feature_dropout(ops::activate(y, Activation::gelu), inside);
    mixed = ops::linear(active, output_->weight, output_->bias);
  } else {
    mixed = ops::activated_linear(y, Activation::gelu, inside, output_->weight, output_->bias);
  }
  if (options_.glu) mixed = torch::glu(mixed, -1);
  return options_.feature_dropout ? ops::feature_dropout(mixed, after) : ops::dropout(mixed, after);
}

}  // namespace mega::baselines
