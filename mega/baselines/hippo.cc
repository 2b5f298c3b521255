#include "mega/baselines/hippo.h"

#include <cmath>

namespace mega::baselines {

using torch::Tensor;

// A_nk = -sqrt((2n+1)(2k+1)) below the diagonal, -(n+1) on it, 0 above; B_n = sqrt(2n+1); P_n = sqrt(n +
// 1/2).
Hippo hippo_legs(int64_t n) {
  const Tensor index = torch::arange(n, torch::kDouble), root = (2 * index + 1).sqrt();
  const Tensor a = -(root.unsqueeze(1) * root.unsqueeze(0)).tril(-1) - torch::diag(index + 1);
  return {a, root, (index + 0.5).sqrt()};
}

DiagonalHippo diagonal_legs(int64_t n) {
  const auto [a, b, p] = hippo_legs(n);
  const Tensor normal = a + p.unsqueeze(1) * p.unsqueeze(0);
  const Tensor skew = (normal - normal.t()) / 2;
  // skew = V i diag(mu) V*, from the Hermitian matrix -i skew.
  const auto [mu, v] = torch::linalg_eigh(torch::complex(torch::zeros_like(skew), -skew));
  const int64_t half = n / 2;
  const Tensor basis =
      torch::view_as_real(v.narrow(1, 0, half).conj().resolve_conj().t().contiguous());  // (N/2, N, 2)
  const auto changed = [&](const Tensor& vector) { return (basis * vector.view({1, n, 1})).sum(1); };
  return {torch::stack({torch::full({half}, -0.5, torch::kDouble), mu.narrow(0, 0, half)}, -1), changed(b),
          changed(p)};
}

Tensor s4d_lambda(S4Frequencies frequencies, int64_t n) {
  if (frequencies == S4Frequencies::legs) return diagonal_legs(n).lambda;
  const Tensor index = torch::arange(n / 2, torch::kDouble);
  const auto size = static_cast<double>(n);
  const Tensor imaginary =
      frequencies == S4Frequencies::lin ? -M_PI * index : -size / M_PI * (size / (2 * index + 1) - 1);
  return torch::stack({torch::full_like(index, -0.5), imaginary}, -1);
}

}  // namespace mega::baselines
