#include "mega/nn/ema.h"

#include <algorithm>
#include <cmath>

#include "mega/base/error.h"
#include "mega/nn/sequence_pieces.h"
#include "mega/ops/complex_ema.h"

namespace mega::nn {

using torch::Tensor;

namespace {

EmaOptions checked(EmaOptions options) {
  require(options.dimension >= 0, "the EMA's dimension must not be negative, but is ", options.dimension);
  if (options.kind == EmaKind::plain || options.kind == EmaKind::damped)
    options.dimension = std::min<int64_t>(options.dimension, 1);
  return options;
}

// Normal numbers of this deviation that are at most 1 in size: those beyond are drawn again.
Tensor truncated_normal(const Tensor& like, double deviation) {
  Tensor x = torch::randn_like(like) * deviation;
  while ((x.abs() > 1).any().item<bool>()) x = torch::where(x.abs() > 1, torch::randn_like(x) * deviation, x);
  return x;
}

// What is left, at the beginning of this process's piece, of the states that pieces leave behind: q to the
// power of the positions between, and 0 of pieces that do not come before it. q (D, N) -> (processes, D, N).
// `ahead`: of an average over the future, for which later pieces come before.
Tensor decays(const Tensor& q, const SequencePieces& pieces, bool ahead) {
  std::vector<double> between, counts;
  for (size_t i = 0; i < pieces.all().size(); ++i) {
    const Span &other = pieces.all()[i], &own = pieces.own();
    const bool comes_before = ahead ? i > pieces.rank() : i < pieces.rank();
    const int64_t steps = ahead ? other.begin - own.end : own.begin - other.end;
    between.push_back(comes_before ? static_cast<double>(steps) : 0.0);
    counts.push_back(comes_before ? 1.0 : 0.0);
  }
  const auto column = [&](const std::vector<double>& numbers) {
    return torch::tensor(numbers, torch::kDouble).view({-1, 1, 1}).to(q.device());
  };
  return (column(counts) * torch::pow(q.to(torch::kDouble), column(between))).to(q.scalar_type());
}

// The average of a piece continues that of the pieces before it. Averages are linear in their input: what
// each piece leaves behind when read from a zero state, decayed by the positions in between, adds up to the
// state with which this one begins. A truncated kernel has no such state, but needs only so many positions
// around the piece.
Tensor ema_of_piece(const Tensor& x, const ops::EmaCoefficients& both, const Tensor& omega,
                    const Tensor& mask, const ops::EmaSettings& settings, const SequencePieces& pieces) {
  const int64_t width = x.size(2);
  const bool ahead = settings.bidirectional;
  if (settings.truncation > 0 && settings.truncation < pieces.length()) {
    const Tensor seen = mask.defined() ? x.masked_fill(mask.unsqueeze(-1), 0.0) : x;
    const int64_t lags = settings.truncation - 1;
    const Tensor before = pieces.before(seen, lags),
                 after = ahead ? pieces.after(seen, lags) : x.narrow(1, 0, 0);
    Tensor padding = mask;
    if (mask.defined()) padding = torch::constant_pad_nd(mask, {before.size(1), after.size(1)}, 0);
    return ops::ema(torch::cat({before, x, after}, 1), both, omega, padding, settings)
        .narrow(1, before.size(1), x.size(1));
  }

  struct Direction {
    ops::EmaCoefficients coefficients;
    Tensor x, mask, state;
  };
  ops::EmaSettings one_way = settings;
  one_way.bidirectional = one_way.activated = false;
  one_way.truncation = 0;
  std::vector<Direction> directions;
  std::vector<Tensor> left, decay;
  for (int64_t r = 0; r < (ahead ? 2 : 1); ++r) {
    const auto rows = [&](const Tensor& t) { return t.narrow(0, r * width, width); };
    Direction& way = directions.emplace_back(
        Direction{{rows(both.q), rows(both.b), rows(both.c)}, r == 0 ? x : x.flip(1), mask, {}});
    if (r == 1 && mask.defined()) way.mask = mask.flip(1);
    ops::ema(way.x, way.coefficients, {}, way.mask, one_way, &way.state);
    left.push_back(way.state);
    decay.push_back(decays(way.coefficients.q, pieces, r == 1));
  }
  // (processes, B, kD, N) -> (B, kD, N)
  const Tensor begin = (pieces.of_each(torch::cat(left, 1)) * torch::cat(decay, 1).unsqueeze(1)).sum(0);
  Tensor y;
  for (int64_t r = 0; r < std::ssize(directions); ++r) {
    Direction& way = directions[static_cast<size_t>(r)];
    way.state = begin.narrow(1, r * width, width);
    const Tensor sums =
        ops::ema(way.x, way.coefficients, r == 0 ? omega : Tensor(), way.mask, one_way, &way.state);
    y = r == 0 ? sums : y + sums.flip(1);
  }
  return settings.activated ? torch::silu(y) : y;
}

}  // namespace

EmaImpl::EmaImpl(int64_t width, const EmaOptions& options) : width_(width), options_(checked(options)) {
  const int64_t rows = options_.bidirectional ? 2 * width : width, n = options_.dimension;
  if (n == 0) return;
  delta = register_parameter("delta", torch::empty({rows, n, 1}));
  if (options_.kind != EmaKind::plain) alpha = register_parameter("alpha", torch::empty({rows, n, 1}));
  if (options_.kind == EmaKind::multidimensional) {
    beta = register_parameter("beta", torch::empty({rows, n, 1}));
    gamma = register_parameter("gamma", torch::empty({rows, n}));
  }
  if (options_.kind == EmaKind::complex) {
    theta = register_parameter("theta", torch::empty({rows, 1, 1}));
    gamma = register_parameter("gamma", torch::empty({rows, n, 2}));
  }
  if (options_.skip) omega = register_parameter("omega", torch::empty({width}));
  reset_parameters();
}

void EmaImpl::reset_parameters() {
  const torch::NoGradGuard no_grad;
  for (const Tensor& logit : {delta, alpha})
    if (logit.defined()) logit.normal_(0.0, 0.2);
  if (beta.defined()) {  // alternating signs, so that the averages of a channel start out different
    beta.normal_(0.0, 0.02).add_(1.0);
    beta.slice(1, 1, c10::nullopt, 2).sub_(2.0);
  }
  for (const Tensor& weight : {gamma, omega})
    if (weight.defined()) weight.normal_(0.0, 1.0);
  if (options_.kind != EmaKind::complex) return;
  // As released: turns from almost a whole one to 1/D, over the channels in random order; real projections; a
  // small skip, normal within one unit.
  gamma.select(2, 1).zero_();
  if (omega.defined()) omega.copy_(truncated_normal(omega, 0.25));
  for (int64_t row = 0; row < theta.size(0); row += width_) {
    const auto d = static_cast<double>(width_);
    const Tensor share = torch::pow(d, -torch::arange(1, width_ + 1, torch::kDouble) / d);
    theta.narrow(0, row, width_).copy_(torch::logit(share).index({torch::randperm(width_)}).view({-1, 1, 1}));
  }
}

// p = sigma(delta), q = 1 - p sigma(alpha): equation 5, and equations 2 and 3 without the missing terms. The
// released implementation divides eta by sqrt(N).
ops::EmaCoefficients EmaImpl::coefficients() const {
  const bool plain = options_.kind == EmaKind::plain;
  const bool exchanged = options_.exchanged && !plain;
  const Tensor p = torch::sigmoid(exchanged ? alpha : delta).squeeze(-1);
  if (plain) return {1 - p, p, torch::ones_like(p)};
  const Tensor q = 1 - p * torch::sigmoid(exchanged ? delta : alpha).squeeze(-1);
  if (options_.kind == EmaKind::damped) return {q, p, torch::ones_like(p)};
  const double scale = options_.scaled ? 1.0 / std::sqrt(static_cast<double>(options_.dimension)) : 1.0;
  return {q, p * beta.squeeze(-1), gamma * scale};
}

// p = sigma(alpha), |q| = 1 - p sigma(delta), and average k of N turns by k / N of the share sigma(theta) of
// a turn.
ops::DiagonalSystem EmaImpl::complex_coefficients() const {
  const auto n = static_cast<double>(options_.dimension);
  const Tensor p = torch::sigmoid(alpha).squeeze(-1);
  constexpr double kTiny = 1e-37;  // a size rounded to 0 still has a logarithm
  const Tensor size = (1 - p * torch::sigmoid(delta).squeeze(-1)).clamp_min(kTiny);
  const Tensor k = torch::arange(1, options_.dimension + 1, p.options().requires_grad(false));
  const Tensor phase = torch::sigmoid(theta).squeeze(-1) * (k * (2 * M_PI / n));
  const double scale = options_.scaled ? 1.0 / std::sqrt(n) : 1.0;
  return {size.log(), phase, torch::stack({p, torch::zeros_like(p)}, -1), gamma * scale};
}

Tensor EmaImpl::forward(const Tensor& x, const Tensor& mask, Tensor* state) {
  return run(x, mask, state, options_.activated, false);
}

Tensor EmaImpl::sums(const Tensor& x, const Tensor& mask, Tensor* state, bool rounded) {
  return run(x, mask, state, false, rounded);
}

Tensor EmaImpl::run(const Tensor& x, const Tensor& mask, Tensor* state, bool activated, bool rounded) {
  if (options_.dimension == 0) return x;
  require(x.dim() == 3 && x.size(2) == width_, "an EMA of width ", width_, " takes (batch, length, ", width_,
          "), not ", x.sizes());
  ops::EmaSettings settings;
  settings.bidirectional = options_.bidirectional;
  settings.shift = options_.shift;
  settings.truncation = options_.truncation;
  settings.activated = activated;
  settings.rounded = rounded;
  if (const SequencePieces* pieces = sequence_pieces(); pieces != nullptr) {
    require(
        state == nullptr && options_.kind != EmaKind::complex && !options_.shift,
        "a moving average over a sequence in pieces carries no state, and is neither complex nor shifted");
    return ema_of_piece(x, coefficients(), omega, mask, settings, *pieces);
  }
  if (options_.kind == EmaKind::complex)
    return ops::complex_ema(x, complex_coefficients(), omega, mask, settings, state);
  return ops::ema(x, coefficients(), omega, mask, settings, state);
}

Tensor EmaImpl::initial_state(int64_t batch) const {
  const auto options = delta.defined() ? delta.options().requires_grad(false) : torch::TensorOptions();
  return torch::zeros({batch, width_, state_numbers(options_)}, options);
}

void EmaImpl::pretty_print(std::ostream& stream) const {
  stream << "mega::nn::Ema(D=" << width_ << ", N=" << options_.dimension << ", " << to_string(options_.kind)
         << (options_.bidirectional ? ", bidirectional" : "") << (options_.shift ? ", shifted" : "");
  if (options_.truncation > 0) stream << ", truncation=" << options_.truncation;
  stream << ")";
}

}  // namespace mega::nn
