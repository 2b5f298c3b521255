#include "mega/ops/state_space.h"

#include <algorithm>
#include <cmath>

#include "mega/base/error.h"
#include "mega/ops/cauchy.h"
#include "mega/ops/long_convolution.h"
#include "mega/ops/parallel.h"

namespace mega::ops {
namespace {

using torch::Tensor;

// Positions of a stream that are computed together.
constexpr int64_t kPiece = 64;

Tensor times(const Tensor& a, const Tensor& b) {  // complex, element by element
  const Tensor re = a.select(-1, 0) * b.select(-1, 0) - a.select(-1, 1) * b.select(-1, 1);
  const Tensor im = a.select(-1, 0) * b.select(-1, 1) + a.select(-1, 1) * b.select(-1, 0);
  return torch::stack({re, im}, -1);
}

// Apart, gradients need no copies.
struct Complex {
  Tensor re, im;

  Tensor together() const { return torch::stack({re, im}, -1); }
};

// q^l for every l of `lags` (T): (D, N, T).
Complex powers(const DiagonalSystem& system, const Tensor& lags) {
  const Tensor size = torch::exp(system.decay.unsqueeze(-1) * lags),
               angle = system.phase.unsqueeze(-1) * lags;
  return {size * angle.cos(), size * angle.sin()};
}

// a (..., N, A) and b (..., N, B) -> Re sum_n a_n b_n, (..., A, B).
Tensor real_products(const Complex& a, const Complex& b) {
  const Tensor left = torch::cat({a.re, -a.im}, -2), right = torch::cat({b.re, b.im}, -2);
  return torch::matmul(left.transpose(-1, -2), right);
}

// Runs a stream: pieces of equal length side by side, then what is left. run(x (B, P T, D), T, state) gives y
// and replaces the state.
template <class Run>
Tensor in_pieces(const Tensor& x, Tensor& state, const Run& run) {
  const int64_t length = x.size(1), piece = std::min(kPiece, length), rest = length % piece;
  const Tensor y = run(x.narrow(1, 0, length - rest), piece, state);
  return rest == 0 ? y : torch::cat({y, run(x.narrow(1, length - rest, rest), rest, state)}, 1);
}

// The response of pieces to themselves.
Tensor own_response(const Tensor& x, const Tensor& kernel) {
  return x.size(1) == 1 ? x * kernel.t() : long_convolution(x, kernel, {}, {});
}

// The states before each piece, from what enters during each of them, both (.., P): h' = advance(h) +
// entered. Replaces the state.
template <class Advance>
Tensor states_before(Tensor& h, const Tensor& entered, const Advance& advance) {
  std::vector<Tensor> before;
  for (int64_t p = 0; p < entered.size(-1); ++p) {
    before.push_back(h);
    h = advance(h) + entered.select(-1, p);
  }
  return torch::stack(before, -1);
}

// torch::matmul of a matrix for each channel, which takes them one after the other; here threads share them.
Tensor by_channel(const Tensor& a, const Tensor& b) {
  if (torch::GradMode::is_enabled()) return torch::matmul(a, b);
  const Tensor result = torch::empty({a.size(0), a.size(1), b.size(2)}, a.options());
  parallel_for(0, a.size(0), 1, [&](int64_t begin, int64_t end) {
    const torch::NoGradGuard guard;
    const auto part = [&](const Tensor& t) { return t.narrow(0, begin, end - begin); };
    Tensor out = part(result);
    torch::bmm_out(out, part(a), part(b));
  });
  return result;
}

void check_state(const Tensor& x, const Tensor& state, int64_t width, int64_t numbers) {
  require(x.dim() == 3 && x.size(2) == width, "a state space of width ", width, " takes (batch, length, ",
          width, "), not ", x.sizes());
  require(state.sizes() == torch::IntArrayRef({x.size(0), width, numbers}) &&
              state.scalar_type() == x.scalar_type(),
          "the state of this state space must be (", x.size(0), ", ", width, ", ", numbers, ") of ",
          x.scalar_type(), ", not ", state.sizes(), " of ", state.scalar_type());
}

}  // namespace

DiagonalSystem discretized(const Tensor& lambda, const Tensor& input, const Tensor& output,
                           const Tensor& step, Discretization rule) {
  const Tensor re = lambda.select(-1, 0), im = lambda.select(-1, 1), x = step * re, y = step * im;
  const auto complex = [](const Tensor& a, const Tensor& b) { return torch::stack({a, b}, -1); };
  if (rule == Discretization::zoh) {
    const Tensor size = x.exp(), change_re = size * y.cos() - 1, change_im = size * y.sin();
    const Tensor factor = complex(change_re * re + change_im * im, change_im * re - change_re * im) /
                          (re.square() + im.square()).unsqueeze(-1);
    return {x, y, times(factor, input), output};
  }
  const Tensor above = 1 + x / 2, below = 1 - x / 2, turn = y / 2, square = below.square() + turn.square();
  const Tensor factor = complex(step * below / square, step * turn / square);
  return {((above.square() + turn.square()) / square).log() / 2,
          torch::atan2(turn, above) + torch::atan2(turn, below), times(factor, input), output};
}

// With l = a S + s, q^l = q^(a S) q^s: about sqrt(length) powers of either kind, and a product of matrices.
Tensor diagonal_kernel(const DiagonalSystem& system, int64_t length) {
  const auto step = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(length))));
  const int64_t steps = (length + step - 1) / step;
  const auto options = system.decay.options().requires_grad(false);
  const std::vector<Tensor> weight = times(system.input, system.output).unsqueeze(-2).unbind(-1);
  const auto [re, im] = powers(system, torch::arange(steps, options) * step);
  const Complex coarse{weight[0] * re - weight[1] * im, weight[0] * im + weight[1] * re};
  const Complex fine = powers(system, torch::arange(step, options));
  return real_products(coarse, fine).flatten(-2).narrow(-1, 0, length);
}

Tensor carry(const DiagonalSystem& system, const Tensor& x, Tensor& state) {
  const int64_t width = system.decay.size(0), n = system.decay.size(1);
  if (!state.defined()) state = x.new_zeros({x.size(0), width, 2 * n});
  check_state(x, state, width, 2 * n);
  const auto options = system.decay.options().requires_grad(false);
  const int64_t most = std::min(kPiece, x.size(1));
  const Tensor kernel = diagonal_kernel(system, most);
  const Tensor all = powers(system, torch::arange(most + 1, options)).together();  // (D, N, T + 1, 2)
  return in_pieces(x, state, [&](const Tensor& part, int64_t length, Tensor& h) {
    const int64_t batch = x.size(0);
    const Tensor pieces = part.reshape({-1, length, width});  // (B P, T, D)
    // What enters is b sum_t q^(T-1-t) x_t.
    const Tensor late = all.narrow(2, 0, length).flip(2).transpose(2, 3).flatten(1, 2);  // (D, 2 N, T)
    const Tensor sums = by_channel(late, pieces.permute({2, 1, 0}));                     // (D, 2 N, B P)
    const Tensor entered = times(system.input.unsqueeze(2), sums.view({width, n, 2, -1}).transpose(2, 3));
    const Tensor power = all.select(2, length).unsqueeze(2);    // (D, N, 1, 2)
    h = h.reshape({batch, width, n, 2}).permute({1, 2, 0, 3});  // (D, N, B, 2)
    const Tensor before = states_before(h, entered.reshape({width, n, batch, -1, 2}).transpose(3, 4),
                                        [&](const Tensor& now) { return times(power, now); });
    h = h.permute({2, 0, 1, 3}).flatten(2);
    // The state's part at t is Re c q^(t+1) h.
    const Tensor weighted = times(system.output.unsqueeze(2), before.transpose(3, 4).flatten(2, 3));
    const auto apart = [](const Tensor& t) { return Complex{t.select(-1, 0), t.select(-1, 1)}; };
    const Tensor rest = real_products(apart(all.narrow(2, 1, length)), apart(weighted));  // (D, T, B P)
    return (own_response(pieces, kernel.narrow(1, 0, length)) + rest.permute({2, 1, 0}))
        .reshape(part.sizes());
  });
}

Tensor dense_kernel(const DenseSystem& system, int64_t length) {
  Tensor row = system.output.unsqueeze(1);  // (D, 1, N)
  std::vector<Tensor> values;
  for (int64_t l = 0; l < length; ++l) {
    values.push_back((row.squeeze(1) * system.input).sum(-1));
    if (l + 1 < length) row = torch::matmul(row, system.transition);
  }
  return torch::stack(values, 1);
}

Tensor carry(const DenseSystem& system, const Tensor& x, Tensor& state) {
  const int64_t width = system.input.size(0), n = system.input.size(1);
  if (!state.defined()) state = x.new_zeros({x.size(0), width, n});
  check_state(x, state, width, n);
  if (x.size(1) == 1) {
    state = torch::matmul(state.transpose(0, 1), system.transition.transpose(1, 2)).transpose(0, 1) +
            system.input * x.transpose(1, 2);
    return (state * system.output).sum(-1).unsqueeze(1);
  }
  // Rows c A^(t+1) and columns A^t b of a whole piece, twice as many each time; in double, because they are
  // powers of a matrix.
  const int64_t most = std::min(kPiece, x.size(1));
  const Tensor transition = system.transition.to(torch::kDouble);
  Tensor power = transition, rows = torch::matmul(system.output.to(torch::kDouble).unsqueeze(1), power),
         columns = system.input.to(torch::kDouble).unsqueeze(-1);
  for (int64_t t = 1; t < most; t *= 2) {
    rows = torch::cat({rows, by_channel(rows, power)}, 1);
    columns = torch::cat({columns, by_channel(power, columns)}, 2);
    power = by_channel(power, power);
  }
  const auto type = x.scalar_type();
  const Tensor seen = rows.to(type), entering = columns.to(type);  // (D, T, N), (D, N, T)
  const Tensor kernel = torch::matmul(system.output.to(type).unsqueeze(1), entering).squeeze(1);
  return in_pieces(x, state, [&](const Tensor& part, int64_t length, Tensor& h) {
    const Tensor pieces = part.reshape({-1, length, width});  // (B P, T, D)
    const Tensor late = entering.narrow(2, 0, length).flip(2);
    const Tensor entered = by_channel(late, pieces.permute({2, 1, 0}));  // (D, N, B P)
    const Tensor whole = (length == rows.size(1) ? power : torch::matrix_power(transition, length)).to(type);
    h = h.permute({1, 2, 0});  // (D, N, B)
    const Tensor before = states_before(h, entered.view({width, n, x.size(0), -1}),
                                        [&](const Tensor& now) { return by_channel(whole, now); });
    h = h.permute({2, 0, 1}).contiguous();
    const Tensor rest = by_channel(seen.narrow(1, 0, length), before.flatten(2));  // (D, T, B P)
    return (own_response(pieces, kernel.narrow(1, 0, length)) + rest.permute({2, 1, 0}))
        .reshape(part.sizes());
  });
}

// K(w) = 2 / (1 + w) [ r(b,c) - r(b,q) r(p,c) / (1 + r(p,q)) ], r(x,y) = sum step x y / (z - step lambda), at
// the roots of unity w_j, where z = 2 (1 - w) / (1 + w) = 2 i tan(pi j / L); at w = -1 its limit, sum step b
// c / 2.
Tensor low_rank_kernel(const LowRankSystem& system, int64_t length) {
  const auto& [lambda, p, q, b, c, step] = system;
  const Tensor dt = step.view({-1, 1, 1});
  std::vector<Tensor> products = {times(b, q), times(p, q)};
  const int64_t outputs = c.size(0);
  for (const Tensor& left : {b, p})
    for (int64_t k = 0; k < outputs; ++k) products.push_back(times(left, c[k]));
  const Tensor v = torch::stack(products, 1) * dt.unsqueeze(1);

  const int64_t nodes = (length + 1) / 2;  // without w = -1
  const auto options = lambda.options().requires_grad(false);
  const Tensor half =
      torch::arange(nodes, options.dtype(torch::kDouble)) * (M_PI / static_cast<double>(length));
  const Tensor tangent = half.tan().to(options);
  const std::vector<Tensor> parts = cauchy_sums(v, lambda * dt, 2 * tangent).unbind(0);
  const std::vector<Tensor> r = torch::complex(parts[0], parts[1]).unbind(1);  // R times (D, M)
  const Tensor share = r[0] / (r[1] + 1);
  const Tensor factor =
      torch::complex(torch::ones_like(tangent), tangent);  // 2 / (1 + w) = 1 + i tan(pi j / L)
  std::vector<Tensor> kernels;
  for (int64_t k = 0; k < outputs; ++k) {
    Tensor spectrum = factor * (r[2 + k] - share * r[2 + outputs + k]);
    if (length % 2 == 0) {
      const Tensor limit = v.select(1, 2 + k).select(-1, 0).sum(-1, /*keepdim=*/true);
      spectrum = torch::cat({spectrum, torch::complex(limit, torch::zeros_like(limit))}, 1);
    }
    kernels.push_back(torch::fft::irfft(spectrum, length));
  }
  return torch::stack(kernels);
}

DenseSystem discretized(const LowRankSystem& system) {
  const Tensor re = system.lambda.select(-1, 0), im = system.lambda.select(-1, 1);
  const auto diagonal = [](const Tensor& t) { return torch::diag_embed(t); };
  const Tensor rotation = torch::cat({torch::cat({diagonal(re), diagonal(-im)}, 2),  //
                                      torch::cat({diagonal(im), diagonal(re)}, 2)},
                                     1);
  const auto column = [](const Tensor& t) { return t.transpose(-1, -2).flatten(-2); };
  // Over all states, q^T h is twice the real part of the kept ones'.
  const Tensor a = rotation - column(system.p).unsqueeze(-1) * real_rows(system.q).unsqueeze(-2);
  const Tensor half = system.step.view({-1, 1, 1}) / 2, unit = torch::eye(a.size(-1), a.options());
  const Tensor b = 2 * half * column(system.input).unsqueeze(-1);
  const Tensor solved = torch::linalg_solve(unit - half * a, torch::cat({unit + half * a, b}, 2));
  const int64_t n = a.size(-1);
  return {solved.narrow(2, 0, n), solved.select(2, n), torch::zeros_like(solved.select(2, n))};
}

Tensor real_rows(const Tensor& c) { return 2 * torch::cat({c.select(-1, 0), -c.select(-1, 1)}, -1); }

Tensor complex_rows(const Tensor& rows) {
  const int64_t n = rows.size(-1) / 2;
  return torch::stack({rows.narrow(-1, 0, n), -rows.narrow(-1, n, n)}, -1) / 2;
}

}  // namespace mega::ops
