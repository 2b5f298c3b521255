#include "mega/ops/state_space.h"

#include <algorithm>
#include <cmath>

#include "mega/base/error.h"
#include "mega/ops/cauchy.h"
#include "mega/ops/long_convolution.h"

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

// q^l for every l of `lags` (T): (D, N, T, 2).
Tensor powers(const DiagonalSystem& system, const Tensor& lags) {
  const Tensor size = torch::exp(system.decay.unsqueeze(-1) * lags),
               angle = system.phase.unsqueeze(-1) * lags;
  return torch::stack({size * angle.cos(), size * angle.sin()}, -1);
}

// a (..., N, A, 2) and b (..., N, B, 2) -> Re sum_n a_n b_n, (..., A, B).
Tensor real_products(const Tensor& a, const Tensor& b) {
  const Tensor left = torch::cat({a.select(-1, 0), -a.select(-1, 1)}, -2);
  const Tensor right = torch::cat({b.select(-1, 0), b.select(-1, 1)}, -2);
  return torch::matmul(left.transpose(-1, -2), right);
}

// Runs the stream in pieces: step(x (B, T, D), state) -> y, and replaces the state.
template <class Step>
Tensor in_pieces(const Tensor& x, Tensor& state, const Step& step) {
  std::vector<Tensor> pieces;
  for (int64_t at = 0; at < x.size(1); at += kPiece)
    pieces.push_back(step(x.narrow(1, at, std::min(kPiece, x.size(1) - at)), state));
  return pieces.size() == 1 ? pieces[0] : torch::cat(pieces, 1);
}

// The response of a piece to itself.
Tensor own_response(const Tensor& x, const Tensor& kernel) {
  return x.size(1) == 1 ? x * kernel.t() : long_convolution(x, kernel, {}, {});
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
  const Tensor weight = times(system.input, system.output).unsqueeze(-2);
  const Tensor coarse = times(weight, powers(system, torch::arange(steps, options) * step));
  const Tensor fine = powers(system, torch::arange(step, options));
  return real_products(coarse, fine).flatten(1).narrow(1, 0, length);
}

Tensor carry(const DiagonalSystem& system, const Tensor& x, Tensor& state) {
  const int64_t width = system.decay.size(0), n = system.decay.size(1);
  if (!state.defined()) state = x.new_zeros({x.size(0), width, 2 * n});
  check_state(x, state, width, 2 * n);
  const auto options = system.decay.options().requires_grad(false);
  const int64_t most = std::min(kPiece, x.size(1));
  const Tensor kernel = diagonal_kernel(system, most);
  const Tensor all = powers(system, torch::arange(most + 1, options));  // (D, N, T + 1, 2)
  return in_pieces(x, state, [&](const Tensor& piece, Tensor& h) {
    const int64_t length = piece.size(1);
    const Tensor before = h.reshape({h.size(0), width, n, 2});
    // The state's part at t is Re c q^(t+1) h.
    const Tensor weighted = times(system.output, before).permute({1, 2, 0, 3});  // (D, N, B, 2)
    const Tensor rest = real_products(weighted, all.narrow(2, 1, length));       // (D, B, T)
    const Tensor y = own_response(piece, kernel.narrow(1, 0, length)) + rest.permute({1, 2, 0});
    // q^T h + b sum_t q^(T-1-t) x_t.
    const Tensor late = all.narrow(2, 0, length).flip(2);  // (D, N, T, 2)
    const Tensor entered = torch::einsum("dntc,btd->bdnc", {late, piece});
    h = (times(all.select(2, length), before) + times(system.input, entered)).flatten(2);
    return y;
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
  // Rows c A^(t+1) and columns A^t b of a whole piece, in double: they are powers of a matrix.
  const int64_t most = std::min(kPiece, x.size(1));
  const Tensor a = system.transition.to(torch::kDouble);
  Tensor row = system.output.to(torch::kDouble).unsqueeze(1),
         column = system.input.to(torch::kDouble).unsqueeze(-1);
  std::vector<Tensor> rows, columns;
  for (int64_t t = 0; t < most; ++t) {
    rows.push_back(row = torch::matmul(row, a));
    columns.push_back(column);
    if (t + 1 < most) column = torch::matmul(a, column);
  }
  const auto type = x.scalar_type();
  const Tensor seen = torch::cat(rows, 1).to(type);         // (D, T, N)
  const Tensor entering = torch::cat(columns, 2).to(type);  // (D, N, T)
  const Tensor kernel = torch::matmul(system.output.to(type).unsqueeze(1), entering).squeeze(1);
  const Tensor whole = torch::matrix_power(a, most).to(type);
  return in_pieces(x, state, [&](const Tensor& piece, Tensor& h) {
    const int64_t length = piece.size(1);
    const Tensor y = own_response(piece, kernel.narrow(1, 0, length)) +
                     torch::einsum("dtn,bdn->btd", {seen.narrow(1, 0, length), h});
    const Tensor power = length == most ? whole : torch::matrix_power(a, length).to(type);
    h = torch::einsum("dmn,bdn->bdm", {power, h}) +
        torch::einsum("dnt,btd->bdn", {entering.narrow(2, 0, length).flip(2), piece});
    return y;
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
  const Tensor r = torch::permute(cauchy_sums(v, lambda * dt, 2 * tangent), {1, 2, 3, 0});  // (D, R, M, 2)
  const auto sum = [&](int64_t index) { return r.select(1, index); };
  const Tensor one = torch::tensor({1.0, 0.0}, options);
  const Tensor divisor = sum(1) + one;
  const Tensor conjugate = torch::stack({divisor.select(-1, 0), -divisor.select(-1, 1)}, -1);
  const Tensor share = times(sum(0), conjugate) / divisor.square().sum(-1, /*keepdim=*/true);
  // 2 / (1 + w) = 1 + i tan(pi j / L).
  const Tensor factor = torch::stack({torch::ones_like(tangent), tangent}, -1);
  std::vector<Tensor> kernels;
  for (int64_t k = 0; k < outputs; ++k) {
    Tensor spectrum = times(factor, sum(2 + k) - times(share, sum(2 + outputs + k)));
    if (length % 2 == 0) {
      const Tensor limit = v.select(1, 2 + k).select(-1, 0).sum(-1).view({-1, 1, 1});
      spectrum = torch::cat({spectrum, torch::constant_pad_nd(limit, {0, 1})}, 1);
    }
    kernels.push_back(torch::fft::irfft(torch::view_as_complex(spectrum.contiguous()), length));
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
