#include "mega/train/adamw.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/kernels/adam.h"
#include "mega/ops/parallel.h"
#include "mega/ops/phase.h"

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
             const std::vector<TensorInfo>& tensors, const distributed::ParameterShares* shares)
    : options_(options), shares_(shares) {
  for (const auto& [name, parameter] : parameters) {
    require(parameter.is_contiguous(), "AdamW: parameters must be contiguous");
    names_.push_back(name);
    parameters_.push_back(parameter);
    const int64_t numbers = own_numbers(parameters_.size() - 1).size();
    means_.push_back(torch::zeros({numbers}, parameter.options()));
    squares_.push_back(torch::zeros({numbers}, parameter.options()));
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

distributed::Piece AdamW::own_numbers(size_t parameter) const {
  return shares_ == nullptr ? distributed::Piece{0, parameters_[parameter].numel()} : shares_->own(parameter);
}

std::vector<Tensor> AdamW::whole(const std::vector<Tensor>& moments) const {
  std::vector<Tensor> all;
  if (shares_ == nullptr) {
    for (size_t i = 0; i < moments.size(); ++i) all.push_back(moments[i].view_as(parameters_[i]));
    return all;
  }
  if (shares_->leads())
    for (const Tensor& parameter : parameters_) all.push_back(torch::empty_like(parameter));
  shares_->gather(moments, shares_->leads() ? &all : nullptr);
  return all;
}

ops::NamedTensors AdamW::state() const {
  const torch::NoGradGuard guard;
  const std::vector<Tensor> means = whole(means_), squares = whole(squares_);
  ops::NamedTensors state = {{"updates", torch::tensor(updates_)}};
  for (size_t i = 0; i < means.size(); ++i) {
    state.emplace_back("mean." + names_[i], means[i]);
    state.emplace_back("square." + names_[i], squares[i]);
  }
  return state;
}

void AdamW::load_state(const Safetensors& file) {
  const torch::NoGradGuard guard;
  updates_ = ops::to_tensor(file.at("updates")).item<int64_t>();
  for (size_t i = 0; i < names_.size(); ++i) {
    const auto [begin, end] = own_numbers(i);
    const auto load = [&, begin = begin, end = end](const std::string& name, Tensor& moments) {
      const Tensor all = ops::to_tensor(file.at(name));
      require(all.sizes() == parameters_[i].sizes(), name, ": a tensor of ", all.sizes(), ", the model has ",
              parameters_[i].sizes());
      moments.copy_(all.view(-1).slice(0, begin, end));
    };
    load("mean." + names_[i], means_[i]);
    load("square." + names_[i], squares_[i]);
  }
}

void AdamW::share_parameters() {
  if (shares_ == nullptr) return;
  std::vector<Tensor> parts;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const auto [begin, end] = own_numbers(i);
    parts.push_back(parameters_[i].view(-1).slice(0, begin, end));
  }
  shares_->gather(parts, &parameters_);
}

void AdamW::zero_gradients() {
  for (Tensor& parameter : parameters_) parameter.mutable_grad() = Tensor();
}

// Of each parameter a row of those numbers that this process updates, undefined where there is no gradient;
// and the norm of the whole gradient.
std::vector<Tensor> AdamW::own_gradients(const distributed::OwnGradients* own, double& norm) const {
  std::vector<Tensor> gradients(parameters_.size());
  // The sum of squares, and of each parameter in how many processes it has a gradient.
  Tensor sums = torch::zeros({1 + std::ssize(parameters_)}, torch::kFloat64);
  double* const numbers = sums.data_ptr<double>();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor gradient = own != nullptr ? own->sums[i] : parameters_[i].grad();
    if (!gradient.defined()) continue;
    const double part = gradient.norm().item<double>();
    numbers[0] += part * part;
    numbers[1 + i] = own == nullptr || own->found[i] ? 1.0 : 0.0;
    const auto [begin, end] = own_numbers(i);
    gradients[i] = own != nullptr ? gradient : gradient.contiguous().view(-1).slice(0, begin, end);
  }
  if (own != nullptr) shares_->communicator().all_reduce_sum(sums);
  norm = std::sqrt(numbers[0]);
  for (size_t i = 0; i < parameters_.size(); ++i)
    if (numbers[1 + i] == 0.0) gradients[i] = Tensor();
  return gradients;
}

double AdamW::step(double learning_rate, const distributed::OwnGradients* own) {
  const ops::PhaseMark mark(ops::Phase::optimiser);
  const torch::NoGradGuard guard;
  double norm = 0.0;
  const std::vector<Tensor> gradients = own_gradients(own, norm);
  if (!std::isfinite(norm)) return norm;
  const double scale = options_.clip > 0.0 ? std::min(1.0, options_.clip / (norm + 1e-6)) : 1.0;

  ++updates_;
  const double t = static_cast<double>(updates_);
  const double root = std::sqrt(1.0 - std::pow(options_.beta2, t));
  const double correction = root / (1.0 - std::pow(options_.beta1, t));
  const double epsilon = options_.corrected_epsilon ? options_.epsilon * root : options_.epsilon;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& gradient = gradients[i];
    if (!gradient.defined()) continue;
    Tensor& parameter = parameters_[i];
    const double highest = learning_rate * factors_[i].learning_rate, rate = highest * correction;
    const double decay = highest * options_.weight_decay * factors_[i].weight_decay;
    const auto [first, last] = own_numbers(i);
    if (parameter.device().is_cpu() && parameter.scalar_type() == torch::kFloat32) {
      float *p = parameter.data_ptr<float>() + first, *m = means_[i].data_ptr<float>(),
            *v = squares_[i].data_ptr<float>();
      const float* g = gradient.data_ptr<float>();
      const kernels::AdamStep step{static_cast<float>(decay),          static_cast<float>(rate),
                                   static_cast<float>(options_.beta1), static_cast<float>(options_.beta2),
                                   static_cast<float>(epsilon),        static_cast<float>(scale)};
      ops::parallel_rows(last - first, 1, [&](int64_t begin, int64_t end) {
        kernels::adam(step, g + begin, p + begin, m + begin, v + begin, end - begin);
      });
      parameter.unsafeGetTensorImpl()->bump_version();  // as a libtorch operation in place would
      continue;
    }
    const Tensor numbers = parameter.view(-1).slice(0, first, last);
    const Tensor clipped = gradient * scale;
    means_[i].mul_(options_.beta1).add_(clipped, 1.0 - options_.beta1);
    squares_[i].mul_(options_.beta2).addcmul_(clipped, clipped, 1.0 - options_.beta2);
    numbers.mul_(1.0 - decay);
    numbers.addcdiv_(means_[i], squares_[i].sqrt().add_(epsilon), -rate);
  }
  share_parameters();
  return norm;
}

}  // namespace mega::train
