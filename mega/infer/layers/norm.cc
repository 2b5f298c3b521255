#include "mega/infer/layers/norm.h"

#include <cmath>

#include "mega/base/error.h"
#include "mega/kernels/batch_norm.h"
#include "mega/kernels/norm.h"

namespace mega::infer {
namespace {

constexpr float kEpsilon = 1e-5f;

}  // namespace

Norm::Norm(WeightFile& file, const std::string& name, int64_t width, NormKind kind, bool affine)
    : width_(width), kind_(kind) {
  const std::string norm = name + ".norm.";
  if (affine && kind == NormKind::scale) {
    weight_ = file.numbers(norm + "scalar", 1).data();
  } else if (affine) {
    weight_ = file.numbers(norm + "weight", width).data();
    if (kind != NormKind::rms) bias_ = file.numbers(norm + "bias", width).data();
  }
  if (kind != NormKind::batch && kind != NormKind::sync_batch) return;
  const auto mean = file.numbers(norm + "running_mean", width);
  const auto variance = file.numbers(norm + "running_var", width);
  for (size_t i = 0; i < mean.size(); ++i) {
    mean_.push_back(static_cast<double>(mean[i]));
    const double inverse = 1.0 / std::sqrt(static_cast<double>(variance[i]) + static_cast<double>(kEpsilon));
    scale_.push_back(inverse * (weight_ != nullptr ? static_cast<double>(weight_[i]) : 1.0));
    shift_.push_back(bias_ != nullptr ? static_cast<double>(bias_[i]) : 0.0);
  }
}

void Norm::forward(kernels::ConstRows x, kernels::Rows y, int64_t rows, const Run& run) const {
  run.rows(rows, width_, [&](int64_t begin, int64_t end) {
    switch (kind_) {
      case NormKind::layer:
        return kernels::layer_norm(x, weight_, bias_, kEpsilon, y, begin, end, width_);
      case NormKind::scale:
      case NormKind::rms:
        return kernels::rms_norm(x, weight_, kind_ == NormKind::scale, kEpsilon, y, nullptr, begin, end,
                                 width_);
      case NormKind::batch:
      case NormKind::sync_batch:
        return kernels::batch_norm(x, mean_.data(), scale_.data(), shift_.data(), y, begin, end, width_);
      case NormKind::timestep:
        fail("a timestep norm has a state");
    }
  });
}

}  // namespace mega::infer
