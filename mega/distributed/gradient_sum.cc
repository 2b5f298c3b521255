#include "mega/distributed/gradient_sum.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "mega/base/error.h"

namespace mega::distributed {

using torch::Tensor;
using torch::autograd::variable_list;

// Called by the backward pass after a gradient has been added to its parameter.
class GradientSum::Hook : public torch::autograd::FunctionPostHook {
 public:
  Hook(GradientSum& owner, size_t parameter) : owner_(owner), parameter_(parameter) {}
  variable_list operator()(const variable_list& outputs, const variable_list&) override {
    owner_.mark_ready(parameter_);
    return outputs;
  }

 private:
  GradientSum& owner_;
  size_t parameter_;
};

GradientSum::GradientSum(const std::vector<Tensor>& parameters, Communicator& communicator,
                         const GradientSumOptions& options, const ParameterShares* shares)
    : parameters_(parameters), shares_(shares), communicator_(communicator), options_(options) {
  own_.sums.resize(parameters_.size());
  own_.found.resize(parameters_.size());
  bucket_of_.resize(parameters_.size());
  if (shares != nullptr)
    make_buckets(*shares);
  else
    make_buckets();
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].requires_grad()) continue;
    accumulators_.push_back(torch::autograd::impl::grad_accumulator(parameters_[i]));
    hooks_.push_back(accumulators_.back()->add_post_hook(std::make_unique<Hook>(*this, i)));
  }
  thread_ = std::thread([this] { work(); });
}

void GradientSum::make_buckets() {
  for (size_t i = parameters_.size(); i-- > 0;) {
    const Tensor& parameter = parameters_[i];
    if (!parameter.requires_grad()) continue;
    const bool other_type =
        !buckets_.empty() &&
        parameters_[buckets_.back().parameters.front()].scalar_type() != parameter.scalar_type();
    if (buckets_.empty() || other_type ||
        buckets_.back().numbers * parameter.element_size() >= options_.bucket_bytes)
      buckets_.emplace_back();
    buckets_.back().parameters.push_back(i);
    buckets_.back().numbers += parameter.numel();
    bucket_of_[i] = buckets_.size() - 1;
  }
}

// The rows that processes share, so that what is summed for a process is what it updates.
void GradientSum::make_buckets(const ParameterShares& shares) {
  for (size_t row = shares.rows().size(); row-- > 0;) {
    const auto& [begin, end, numbers] = shares.rows()[row];
    Bucket& bucket = buckets_.emplace_back();
    bucket.numbers = numbers;
    for (size_t i = begin; i < end; ++i) {
      bucket.parameters.push_back(i);
      bucket_of_[i] = buckets_.size() - 1;
    }
  }
}

GradientSum::~GradientSum() {
  for (size_t i = 0; i < accumulators_.size(); ++i) accumulators_[i]->del_post_hook(hooks_[i]);
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void GradientSum::begin() {
  for (Bucket& bucket : buckets_)
    bucket.missing =
        static_cast<size_t>(std::count_if(bucket.parameters.begin(), bucket.parameters.end(),
                                          [this](size_t i) { return parameters_[i].requires_grad(); }));
  sent_ = 0;
  listening_ = options_.overlap;
  const std::lock_guard lock(mutex_);
  wanted_ = summed_ = 0;
}

void GradientSum::mark_ready(size_t parameter) {
  if (!listening_) return;
  --buckets_[bucket_of_[parameter]].missing;
  send_next_buckets(/*all=*/false);
}

void GradientSum::send_next_buckets(bool all) {
  const size_t before = sent_;
  for (; sent_ < buckets_.size() && (all || buckets_[sent_].missing == 0); ++sent_)
    for (const size_t i : buckets_[sent_].parameters)
      if (Tensor& gradient = parameters_[i].mutable_grad(); gradient.defined() && !gradient.is_contiguous())
        gradient = gradient.contiguous();
  if (sent_ == before) return;
  {
    const std::lock_guard lock(mutex_);
    wanted_ = sent_;
  }
  changed_.notify_all();
}

void GradientSum::finish() {
  listening_ = false;
  send_next_buckets(/*all=*/true);
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return error_ || summed_ == buckets_.size(); });
  seconds_waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (error_) std::rethrow_exception(error_);
}

// One row of numbers: the gradients, and of each parameter whether it has one.
void GradientSum::sum_bucket(const Bucket& bucket) {
  const torch::NoGradGuard guard;
  const auto& options = parameters_[bucket.parameters.front()].options();
  Tensor row = torch::zeros({bucket.numbers + static_cast<int64_t>(bucket.parameters.size())},
                            torch::TensorOptions(options.dtype()));
  const auto bytes = static_cast<size_t>(row.element_size());
  auto* begin = static_cast<std::byte*>(row.data_ptr());
  std::byte* at = begin;
  int64_t flag = bucket.numbers;
  for (const size_t i : bucket.parameters) {
    const Tensor& gradient = parameters_[i].grad();
    const size_t size = static_cast<size_t>(parameters_[i].numel()) * bytes;
    if (gradient.defined()) {
      std::memcpy(at, gradient.data_ptr(), size);
      row[flag] = 1;
    }
    at += size;
    ++flag;
  }
  if (shares_ != nullptr) return keep_own(bucket, row.narrow(0, 0, bucket.numbers));
  communicator_.sum(row, options_.wire);
  at = begin;
  flag = bucket.numbers;
  for (const size_t i : bucket.parameters) {
    const size_t size = static_cast<size_t>(parameters_[i].numel()) * bytes;
    if (row[flag].item<double>() > 0.0) {
      Tensor& gradient = parameters_[i].mutable_grad();
      if (!gradient.defined()) gradient = torch::empty_like(parameters_[i]);
      std::memcpy(gradient.data_ptr(), at, size);
    }
    at += size;
    ++flag;
  }
}

void GradientSum::keep_own(const Bucket& bucket, const Tensor& row) {
  Tensor numbers = row;
  communicator_.sum_pieces(numbers, options_.wire);
  int64_t before = 0;  // numbers of the row
  for (const size_t i : bucket.parameters) {
    const Piece& own = shares_->own(i);
    own_.sums[i] = numbers.slice(0, before + own.begin, before + own.end).clone();
    own_.found[i] = parameters_[i].grad().defined();
    parameters_[i].mutable_grad() = Tensor();
    before += parameters_[i].numel();
  }
}

void GradientSum::work() {
  while (true) {
    size_t next = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || (!error_ && summed_ < wanted_); });
      if (stop_) return;
      next = summed_;
    }
    std::exception_ptr error;
    try {
      sum_bucket(buckets_[next]);
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    error_ = error;
    ++summed_;
    changed_.notify_all();
  }
}

}  // namespace mega::distributed
