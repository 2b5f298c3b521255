#include "mega/train/adamw.h"

#include <algorithm>
#include <cmath>

#include "mega/base/error.h"
#include "mega/kernels/adam.h"
#include "mega/ops/parallel.h"

namespace mega::train {

using torch::Tensor;

AdamW::AdamW(std::vector<Tensor> parameters, const TrainOptions& options)
    : parameters_(std::move(parameters)), options_(options) {
  for (const Tensor& parameter : parameters_) {
    require(parameter.is_contiguous(), "AdamW updates contiguous parameters only");
    means_.push_back(torch::zeros_like(parameter));
    squares_.push_back(torch::zeros_like(parameter));
  }
}

void AdamW::zero_gradients() {
  for (Tensor& parameter : parameters_) parameter.mutable_grad() = Tensor();
}

double AdamW::step(double learning_rate) {
  const torch::NoGradGuard guard;
  double sum = 0.0;
  for (const Tensor& parameter : parameters_) {
    if (!parameter.grad().defined()) continue;
    const double norm = parameter.grad().norm().item<double>();
    sum += norm * norm;
  }
  const double norm = std::sqrt(sum);
  const double scale = options_.clip > 0.0 ? std::min(1.0, options_.clip / (norm + 1e-6)) : 1.0;

  ++updates_;
  const double t = static_cast<double>(updates_);
  const double rate =
      learning_rate * std::sqrt(1.0 - std::pow(options_.beta2, t)) / (1.0 - std::pow(options_.beta1, t));
  const kernels::AdamStep step{static_cast<float>(learning_rate * options_.weight_decay),
                               static_cast<float>(rate),
                               static_cast<float>(options_.beta1),
                               static_cast<float>(options_.beta2),
                               static_cast<float>(options_.epsilon),
                               static_cast<float>(scale)};
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].grad().defined()) continue;
    Tensor& parameter = parameters_[i];
    const Tensor gradient = parameter.grad().contiguous();
    if (parameter.device().is_cpu() && parameter.scalar_type() == torch::kFloat32) {
      float *p = parameter.data_ptr<float>(), *m = means_[i].data_ptr<float>(),
            *v = squares_[i].data_ptr<float>();
      const float* g = gradient.data_ptr<float>();
      ops::parallel_rows(parameter.numel(), 1, [&](int64_t begin, int64_t end) {
        kernels::adam(step, g + begin, p + begin, m + begin, v + begin, end - begin);
      });
      continue;
    }
    const Tensor clipped = gradient * scale;
    means_[i].mul_(options_.beta1).add_(clipped, 1.0 - options_.beta1);
    squares_[i].mul_(options_.beta2).addcmul_(clipped, clipped, 1.0 - options_.beta2);
    parameter.mul_(1.0 - learning_rate * options_.weight_decay);
    parameter.addcdiv_(means_[i], squares_[i].sqrt().add_(options_.epsilon), -rate);
  }
  return norm;
}

}  // namespace mega::train
