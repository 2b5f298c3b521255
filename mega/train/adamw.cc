#include "mega/train/adamw.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/kernels/adam.h"
#include "mega/ops/parallel.h"

namespace mega::train {

using torch::Tensor;

namespace {

ops::NamedTensors numbered(std::vector<Tensor> parameters) {
  ops::NamedTensors named;
  for (Tensor& parameter : parameters) named.emplace_back(std::to_string(named.size()), std::move(parameter));
  return named;
}

}  // namespace

AdamW::AdamW(std::vector<Tensor> parameters, const TrainOptions& options)
    : AdamW(numbered(std::move(parameters)), options) {}

AdamW::AdamW(const ops::NamedTensors& parameters, const TrainOptions& options,
             const std::vector<TensorInfo>& tensors)
    : options_(options) {
  for (const auto& [name, parameter] : parameters) {
    require(parameter.is_contiguous(), "AdamW: parameters must be contiguous");
    names_.push_back(name);
    parameters_.push_back(parameter);
    means_.push_back(torch::zeros_like(parameter));
    squares_.push_back(torch::zeros_like(parameter));
    factors_.emplace_back();
  }
  std::map<std::string, ParameterGroup> own;
  for (const TensorInfo& tensor : tensors) {
    ParameterGroup& group = own[tensor.name];
    group.weight_decay = tensor.decays ? 1.0 : 0.0;
    if (tensor.learning_rate > 0.0 && options.learning_rate > 0.0)
      group.learning_rate = tensor.learning_rate / options.learning_rate;
  }
  for (size_t i = 0; i < names_.size(); ++i)
    if (const auto found = own.find(names_[i]); found != own.end()) factors_[i] = found->second;
  for (const ParameterGroup& group : options.groups) {
    bool used = false;
    for (size_t i = 0; i < names_.size(); ++i) {
      if (fnmatch(group.names.c_str(), names_[i].c_str(), 0) != 0) continue;
      factors_[i] = group;
      used = true;
    }
    require(used, "train.groups: no parameter matches ", in_quotes(group.names),
            "; names are those of the tensors in the model file, and * matches anything");
  }
}

ops::NamedTensors AdamW::state() const {
  ops::NamedTensors state = {{"updates", torch::tensor(updates_)}};
  for (size_t i = 0; i < names_.size(); ++i) {
    state.emplace_back("mean." + names_[i], means_[i]);
    state.emplace_back("square." + names_[i], squares_[i]);
  }
  return state;
}

void AdamW::load_state(const Safetensors& file) {
  const torch::NoGradGuard guard;
  updates_ = ops::to_tensor(file.at("updates")).item<int64_t>();
  for (size_t i = 0; i < names_.size(); ++i) {
    means_[i].copy_(ops::to_tensor(file.at("mean." + names_[i])));
    squares_[i].copy_(ops::to_tensor(file.at("square." + names_[i])));
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
  if (!std::isfinite(norm)) return norm;
  const double scale = options_.clip > 0.0 ? std::min(1.0, options_.clip / (norm + 1e-6)) : 1.0;

  ++updates_;
  const double t = static_cast<double>(updates_);
  const double root = std::sqrt(1.0 - std::pow(options_.beta2, t));
  const double correction = root / (1.0 - std::pow(options_.beta1, t));
  const double epsilon = options_.corrected_epsilon ? options_.epsilon * root : options_.epsilon;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].grad().defined()) continue;
    Tensor& parameter = parameters_[i];
    const double own = learning_rate * factors_[i].learning_rate, rate = own * correction;
    const double decay = own * options_.weight_decay * factors_[i].weight_decay;
    const Tensor gradient = parameter.grad().contiguous();
    if (parameter.device().is_cpu() && parameter.scalar_type() == torch::kFloat32) {
      float *p = parameter.data_ptr<float>(), *m = means_[i].data_ptr<float>(),
            *v = squares_[i].data_ptr<float>();
      const float* g = gradient.data_ptr<float>();
      const kernels::AdamStep step{static_cast<float>(decay),          static_cast<float>(rate),
                                   static_cast<float>(options_.beta1), static_cast<float>(options_.beta2),
                                   static_cast<float>(epsilon),        static_cast<float>(scale)};
      ops::parallel_rows(parameter.numel(), 1, [&](int64_t begin, int64_t end) {
        kernels::adam(step, g + begin, p + begin, m + begin, v + begin, end - begin);
      });
      continue;
    }
    const Tensor clipped = gradient * scale;
    means_[i].mul_(options_.beta1).add_(clipped, 1.0 - options_.beta1);
    squares_[i].mul_(options_.beta2).addcmul_(clipped, clipped, 1.0 - options_.beta2);
    parameter.mul_(1.0 - decay);
    parameter.addcdiv_(means_[i], squares_[i].sqrt().add_(epsilon), -rate);
  }
  return norm;
}

}  // namespace mega::train
