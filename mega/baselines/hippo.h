// What state space models begin with: the HiPPO matrices of Legendre polynomials (Gu et al. 2020), and
// simpler frequencies after them.
#pragma once

#include "mega/config/models/s4_options.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

// HiPPO-LegS of N states: A (N, N), B and P (N) with A + P P^T = -I/2 + a skew matrix. Double.
struct Hippo {
  torch::Tensor a, b, p;
};
Hippo hippo_legs(int64_t n);

// The same in the basis of eigenvectors of A + P P^T: A = diag(lambda) - p p*. Of each conjugate pair the one
// with negative imaginary part, in ascending order: (N/2, 2) of (real, imaginary) each. An eigenvector's
// phase is free. Double.
struct DiagonalHippo {
  torch::Tensor lambda, b, p;
};
DiagonalHippo diagonal_legs(int64_t n);

// What S4D begins with (Gu et al. 2022b): (N/2, 2). Double.
torch::Tensor s4d_lambda(S4Frequencies frequencies, int64_t n);

}  // namespace mega::baselines
