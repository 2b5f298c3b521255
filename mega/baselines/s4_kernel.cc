// The systems of S4: a diagonal matrix and one of low rank.
#include "mega/baselines/hippo.h"
#include "mega/baselines/state_space_kernel.h"
#include "mega/ops/state_space.h"

namespace mega::baselines {
namespace {

using torch::Tensor;

// Parameters have the released names. Of v2, A = diag(-exp(A_real) - i A_imag) - P P*; of v1, A = diag(w) - p
// q*, where p is B[:, 1] and q is C[:, 1]. C is stored as C (I - A^L) of L = kernel_length, which the
// generating function needs.
class S4Kernel : public StateSpaceKernel {
 public:
  explicit S4Kernel(const S4LayerOptions& options) : options_(options) {
    const int64_t n = options.pairs(), s = options.systems(), d = options.width;
    if (is_first()) {
      w_ = register_parameter("w", torch::empty({n, 2}));
      b_ = register_parameter("B", torch::empty({d, 2, n, 2}));
      c_ = register_parameter("C", torch::empty({d, 2, n, 2}));
      step_ = register_parameter("log_dt", torch::empty({d}));
    } else {
      c_ = register_parameter("C", torch::empty({options.bidirectional ? 2 : 1, d, n, 2}));
      step_ = register_parameter("inv_dt", torch::empty({d, 1}));
      real_ = register_parameter("A_real", torch::empty({s, n}));
      imaginary_ = register_parameter("A_imag", torch::empty({s, n}));
      b_ = register_parameter("B", torch::empty({1, s, n, 2}));
      p_ = register_parameter("P", torch::empty({1, s, n, 2}));
    }
    reset_parameters();
  }

  void reset_parameters() {
    const torch::NoGradGuard guard;
    const auto [lambda, b, p] = diagonal_legs(options_.state);
    reset_steps(step_, options_);
    if (is_first()) {  // its C is used as it is
      reset_outputs(c_);
      w_.copy_(lambda);
      b_.copy_(torch::stack({b, p}));
      c_.select(1, 1).copy_(p);
      return;
    }
    real_.copy_((-lambda.select(-1, 0)).log());
    imaginary_.copy_(-lambda.select(-1, 1));
    b_.copy_(b);
    p_.copy_(p);
    reset_outputs(c_);
    const ops::DenseSystem dense = ops::discretized(exact_system());
    c_.copy_(
        ops::complex_rows(at_length(dense, ops::real_rows(c_.to(torch::kDouble)), options_.kernel_length)));
  }

  // A longer kernel needs another C; a shorter one is the beginning of the stored length's.
  Kernels kernels(int64_t length) override {
    ops::LowRankSystem own = system();
    int64_t size = options_.kernel_length;
    while (size < length) size *= 2;
    if (size != options_.kernel_length) {
      const ops::DenseSystem dense = ops::discretized(in_double(own));
      own.output = ops::complex_rows(at_length(dense, rows(dense), size)).to(own.output.scalar_type());
    }
    const Tensor all = ops::low_rank_kernel(own, size).narrow(2, 0, length);
    return {all[0], options_.bidirectional ? all[1] : Tensor()};
  }

  Tensor carry(const Tensor& x, Tensor& state) override {
    if (torch::GradMode::is_enabled()) return ops::carry(steps(x.scalar_type()), x, state);
    // A stream of single tokens makes the matrices once.
    std::vector<int64_t> key;
    for (const Tensor& parameter : parameters()) key.push_back(static_cast<int64_t>(parameter._version()));
    if (key != cached_key_ || cached_.input.scalar_type() != x.scalar_type()) {
      cached_ = steps(x.scalar_type());
      cached_key_ = key;
    }
    return ops::carry(cached_, x, state);
  }

 private:
  bool is_first() const { return options_.release == S4Release::v1; }

  static Tensor conjugate(const Tensor& z) { return torch::stack({z.select(-1, 0), -z.select(-1, 1)}, -1); }

  ops::LowRankSystem system() const {
    const int64_t d = options_.width;
    const Tensor dt = positive_steps(step_, options_.step).view({d});
    if (is_first()) {
      return {w_.expand({d, -1, -1}),
              b_.select(1, 1),
              conjugate(c_.select(1, 1)),
              b_.select(1, 0),
              conjugate(c_.select(1, 0)).unsqueeze(0),
              dt};
    }
    const Tensor lambda = of_channels(torch::stack({-real_.exp(), -imaginary_}, -1), d);
    const Tensor p = of_channels(p_.squeeze(0), d);
    return {lambda, p, conjugate(p), of_channels(b_.squeeze(0), d), c_, dt};
  }

  static ops::LowRankSystem in_double(const ops::LowRankSystem& s) {
    const auto wide = [](const Tensor& t) { return t.to(torch::kDouble); };
    return {wide(s.lambda), wide(s.p), wide(s.q), wide(s.input), wide(s.output), wide(s.step)};
  }
  ops::LowRankSystem exact_system() const { return in_double(system()); }

  // c (I - A^length) for rows c (K, D, N).
  static Tensor at_length(const ops::DenseSystem& dense, const Tensor& c, int64_t length) {
    const Tensor power = torch::matrix_power(dense.transition, length);
    return c - torch::matmul(c.unsqueeze(-2), power).squeeze(-2);
  }

  // The rows c themselves, from what is stored.
  Tensor rows(const ops::DenseSystem& dense) const {
    const Tensor& a = dense.transition;
    const Tensor left = torch::eye(a.size(-1), a.options()) - torch::matrix_power(a, options_.kernel_length);
    const Tensor stored = ops::real_rows(exact_system().output).unsqueeze(-1);  // (K, D, N, 1)
    return torch::linalg_solve(left.transpose(-1, -2).expand({stored.size(0), -1, -1, -1}), stored)
        .squeeze(-1);
  }

  ops::DenseSystem steps(torch::ScalarType type) const {
    ops::DenseSystem dense = ops::discretized(exact_system());
    dense.output = rows(dense)[0];
    return {dense.transition.to(type), dense.input.to(type), dense.output.to(type)};
  }

  S4LayerOptions options_;
  Tensor w_, c_, step_, real_, imaginary_, b_, p_;
  ops::DenseSystem cached_;
  std::vector<int64_t> cached_key_;
};

}  // namespace

std::shared_ptr<StateSpaceKernel> make_kernel(const S4LayerOptions& options) {
  return std::make_shared<S4Kernel>(options);
}

}  // namespace mega::baselines
