#include "mega/nn/norm.h"

#include "mega/base/error.h"
#include "mega/ops/norm.h"

namespace mega::nn {
namespace {

using torch::Tensor;

constexpr double kEpsilon = 1e-5;
constexpr double kMomentum = 0.1;

// Sum over all processes; its gradient is the sum of the gradients.
struct AllReduceSum : torch::autograd::Function<AllReduceSum> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x,
                        Communicator* communicator) {
    context->saved_data["communicator"] = reinterpret_cast<int64_t>(communicator);
    Tensor sum = x.clone();
    communicator->all_reduce_sum(sum);
    return sum;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    Tensor sum = gradients[0].clone();
    reinterpret_cast<Communicator*>(context->saved_data["communicator"].toInt())->all_reduce_sum(sum);
    return {sum, Tensor()};
  }
};

bool is_batch(NormKind kind) { return kind == NormKind::batch || kind == NormKind::sync_batch; }

}  // namespace

SequenceNormImpl::SequenceNormImpl(int64_t width, NormKind kind, bool affine)
    : width_(width), kind_(kind), affine_(affine), norm_(std::make_shared<torch::nn::Module>()) {
  require(
      kind != NormKind::timestep,
      "norm: the timestep norm needs a state, and belongs to the attention of a Mega block alone; use layer");
  register_module("norm", norm_);
  if (affine && kind == NormKind::scale) {
    weight_ = norm_->register_parameter("scalar", torch::empty({1}));
  } else if (affine) {
    weight_ = norm_->register_parameter("weight", torch::empty({width}));
    if (kind != NormKind::rms) bias_ = norm_->register_parameter("bias", torch::empty({width}));
  }
  if (is_batch(kind)) {
    running_mean_ = norm_->register_buffer("running_mean", torch::empty({width}));
    running_variance_ = norm_->register_buffer("running_var", torch::empty({width}));
    batches_ = norm_->register_buffer("num_batches_tracked", torch::zeros({}, torch::kInt64));
  }
  reset_parameters();
}

bool SequenceNormImpl::over_batch() const { return is_batch(kind_); }

void SequenceNormImpl::reset_parameters() {
  const torch::NoGradGuard guard;
  if (weight_.defined()) weight_.fill_(1);
  if (bias_.defined()) bias_.zero_();
  if (is_batch(kind_)) {
    running_mean_.zero_();
    running_variance_.fill_(1);
    batches_.zero_();
  }
}

void SequenceNormImpl::pretty_print(std::ostream& stream) const {
  stream << "SequenceNorm(" << to_string(kind_) << ", width=" << width_ << (affine_ ? "" : ", no affine")
         << ")";
}

Tensor SequenceNormImpl::forward(const Tensor& x) {
  require(x.size(-1) == width_, "a norm of width ", width_, " does not fit an input of shape ", x.sizes());
  switch (kind_) {
    case NormKind::layer:
      return torch::layer_norm(x, {width_}, weight_, bias_, kEpsilon);
    case NormKind::scale:
    case NormKind::rms:
      return ops::rms_norm(x, weight_, kEpsilon);
    case NormKind::batch:
    case NormKind::sync_batch:
      return batch_norm(x);
    case NormKind::timestep:
      break;
  }
  fail("unknown norm");
}

Tensor SequenceNormImpl::batch_norm(const Tensor& x) {
  if (!is_training()) {
    return torch::batch_norm(x.reshape({-1, width_}), weight_, bias_, running_mean_, running_variance_, false,
                             kMomentum, kEpsilon, false)
        .view_as(x);
  }
  if (communicator_) return shared_batch_norm(x);
  require(x.numel() > width_, "batch norm needs more than one position to train on");
  ops::BatchStatistics batch;
  const Tensor y = ops::batch_norm(x, weight_, bias_, kEpsilon, &batch);
  update_running(batch, static_cast<double>(x.numel() / width_));
  return y;
}

void SequenceNormImpl::update_running(const ops::BatchStatistics& batch, double count) {
  const torch::NoGradGuard guard;
  batches_ += 1;
  running_mean_.lerp_(batch.mean.to(running_mean_.scalar_type()), kMomentum);
  running_variance_.lerp_((batch.variance * (count / (count - 1.0))).to(running_mean_.scalar_type()),
                          kMomentum);
}

Tensor SequenceNormImpl::shared_batch_norm(const Tensor& x) {
  const Tensor rows = x.reshape({-1, width_});
  // Two reductions, because the variance around the common mean is far more accurate than E[x^2] - E[x]^2.
  const Tensor count = torch::full({1}, static_cast<double>(rows.size(0)), rows.options());
  const Tensor sums = AllReduceSum::apply(torch::cat({rows.sum(0), count}), communicator_.get());
  const Tensor total = sums.narrow(0, width_, 1).detach();
  require(total.item<double>() > 1.0, "batch norm needs more than one position to train on");
  const Tensor mean = sums.narrow(0, 0, width_) / total;
  const Tensor centred = rows - mean;
  const Tensor variance = AllReduceSum::apply(centred.square().sum(0), communicator_.get()) / total;
  update_running({mean, variance}, total.item<double>());
  Tensor y = centred * torch::rsqrt(variance + kEpsilon);
  if (affine_) y = y * weight_ + bias_;
  return y.view_as(x);
}

}  // namespace mega::nn
