#include "mega/models/image_model.h"

#include "mega/base/error.h"

namespace mega::models {

torch::Tensor ImageModel::predict(const std::vector<Sequences>& documents) {
  require(documents.size() == 1, "this model reads one picture at a time, not ", documents.size());
  const torch::Tensor& pixels = documents[0].values;
  require(pixels.defined() && pixels.dim() >= 2 && pixels.size(0) > 0 && pixels.size(1) == rows_ * columns_ &&
              pixels.numel() == pixels.size(0) * rows_ * columns_ * channels_,
          "expected pictures of ", rows_, " by ", columns_, " pixels with ", channels_,
          channels_ == 1 ? " channel" : " channels", ", (batch, ", rows_ * columns_,
          channels_ == 1 ? "" : ", channels", "), got ",
          pixels.defined() ? pixels.sizes() : c10::IntArrayRef());
  return forward(pixels.view({-1, rows_, columns_, channels_}).permute({0, 3, 1, 2}));
}

}  // namespace mega::models
