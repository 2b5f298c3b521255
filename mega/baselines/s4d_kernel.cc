// The diagonal systems of S4D.
#include <cmath>

#include "mega/baselines/hippo.h"
#include "mega/baselines/state_space_kernel.h"
#include "mega/ops/state_space.h"

namespace mega::baselines {
namespace {

using torch::Tensor;

// Parameters have the released names: A = -exp(A_real) - i A_imag.
class S4DKernel : public StateSpaceKernel {
 public:
  explicit S4DKernel(const S4DLayerOptions& options) : options_(options) {
    const int64_t n = options.pairs(), s = options.systems();
    c_ = register_parameter("C", torch::empty({options.bidirectional ? 2 : 1, options.width, n, 2}));
    step_ = register_parameter("inv_dt", torch::empty({options.width, 1}));
    real_ = register_parameter("A_real", torch::empty({s, n}));
    imaginary_ = register_parameter("A_imag", torch::empty({s, n}));
    b_ = register_parameter("B", torch::empty({1, s, n, 2}));
    reset_parameters();
  }

  void reset_parameters() {
    const torch::NoGradGuard guard;
    reset_outputs(c_);
    reset_steps(step_, options_);
    constexpr double kLeast = 1e-4;  // as released: of the real parts, and of the frequencies
    const Tensor lambda = s4d_lambda(options_.frequencies, options_.state);
    real_.copy_((-lambda.select(-1, 0)).clamp_min(kLeast).log());
    imaginary_.copy_((-lambda.select(-1, 1)).clamp_min(kLeast));
    if (options_.frequencies == S4Frequencies::legs)
      b_.copy_(diagonal_legs(options_.state).b);
    else
      b_.copy_(torch::tensor({1.0, 0.0}));
  }

  Kernels kernels(int64_t length) override {
    const Tensor all = ops::diagonal_kernel(system(c_), length);
    return {all[0], options_.bidirectional ? all[1] : Tensor()};
  }

  Tensor carry(const Tensor& x, Tensor& state) override { return ops::carry(system(c_[0]), x, state); }

 private:
  // The conjugate states double the output.
  ops::DiagonalSystem system(const Tensor& output) const {
    const Tensor lambda = torch::stack({-real_.exp(), -imaginary_}, -1);
    return ops::discretized(of_channels(lambda, options_.width), of_channels(b_.squeeze(0), options_.width),
                            2 * output, positive_steps(step_, options_.step), options_.discretization);
  }

  S4DLayerOptions options_;
  Tensor c_, step_, real_, imaginary_, b_;
};

}  // namespace

std::shared_ptr<StateSpaceKernel> make_kernel(const S4DLayerOptions& options) {
  return std::make_shared<S4DKernel>(options);
}

Tensor positive_steps(const Tensor& parameter, StepForm form) {
  return form == StepForm::exp ? parameter.exp() : torch::softplus(parameter);
}

void reset_steps(Tensor& parameter, const StateSpaceOptions& options) {
  const torch::NoGradGuard guard;
  parameter.uniform_(std::log(options.min_step), std::log(options.max_step));
  if (options.step == StepForm::softplus) parameter.copy_(parameter.exp().expm1().log());
}

void reset_outputs(Tensor& c) {
  const torch::NoGradGuard guard;
  c.normal_(0.0, std::sqrt(0.5));
}

Tensor of_channels(const Tensor& systems, int64_t width) {
  const int64_t count = systems.size(0);
  if (count == width) return systems;
  std::vector<int64_t> repeats(static_cast<size_t>(systems.dim()), 1);
  repeats[0] = (width + count - 1) / count;
  return systems.repeat(repeats).narrow(0, 0, width);
}

}  // namespace mega::baselines
