#include "mega/models/patch_embedding.h"

#include <cmath>

#include "mega/base/error.h"
#include "mega/ops/linear.h"

namespace mega::models {

using torch::Tensor;

PatchEmbeddingImpl::PatchEmbeddingImpl(int64_t channels, int64_t patch, int64_t width, PatchForm form)
    : channels_(channels), patch_(patch), width_(width), form_(form) {
  auto projection = std::make_shared<torch::nn::Module>(), holder = std::make_shared<torch::nn::Module>();
  weight_ = projection->register_parameter("weight", form == PatchForm::convolution
                                                         ? torch::empty({width, channels, patch, patch})
                                                         : torch::empty({width, channels * patch * patch}));
  bias_ = projection->register_parameter("bias", torch::empty({width}));
  holder->register_module("proj", projection);
  register_module("pemb", holder);
  reset_parameters();
}

void PatchEmbeddingImpl::reset_parameters() {
  const torch::NoGradGuard guard;
  const auto root = [](int64_t n) { return 1.0 / std::sqrt(static_cast<double>(n)); };
  for (const Tensor& parameter : {weight_, bias_}) {
    if (form_ == PatchForm::convolution) {
      const double bound = root(channels_ * patch_ * patch_);
      parameter.uniform_(-bound, bound);
    } else {
      parameter.normal_(0.0, root(width_));
    }
  }
}

Tensor PatchEmbeddingImpl::forward(const Tensor& pictures) {
  require(pictures.dim() == 4 && pictures.size(1) == channels_, "expected pictures (batch, ", channels_,
          ", height, width), got ", pictures.sizes());
  const auto missing = [&](int64_t size) { return (patch_ - size % patch_) % patch_; };
  const int64_t below = missing(pictures.size(2)), right = missing(pictures.size(3));
  const Tensor whole = below + right > 0 ? torch::constant_pad_nd(pictures, {0, right, 0, below}) : pictures;
  const int64_t batch = whole.size(0), rows = whole.size(2) / patch_, columns = whole.size(3) / patch_;
  const Tensor patches = whole.reshape({batch, channels_, rows, patch_, columns, patch_})
                             .permute({0, 2, 4, 1, 3, 5})
                             .reshape({batch, rows * columns, channels_ * patch_ * patch_});
  return ops::linear(patches, weight_.view({width_, -1}), bias_);
}

}  // namespace mega::models
