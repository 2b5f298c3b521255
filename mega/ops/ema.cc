#include "mega/ops/ema.h"

#include "mega/base/error.h"
#include "mega/ops/ema_fused.h"
#include "mega/ops/form.h"
#include "mega/ops/long_convolution.h"

namespace mega::ops {
namespace {

using torch::Tensor;
using torch::indexing::Slice;

// The rows of one direction, (D, N).
EmaCoefficients direction(const EmaCoefficients& both, int64_t width, bool ahead) {
  const auto rows = [&](const Tensor& t) { return t.narrow(0, ahead ? width : 0, width); };
  return {rows(both.q), rows(both.b), rows(both.c)};
}

// q^l for l = 0..count-1, (D, N, count). Clamped, so that a q rounded to 1 does not overflow and a q rounded
// to 0 does not give 0 * infinity.
Tensor powers(const Tensor& q, int64_t count) {
  const double tiny = q.scalar_type() == torch::kDouble ? 1e-300 : 1e-37;
  const Tensor lags = torch::arange(count, q.options());
  return torch::exp(lags * q.clamp(tiny, 1.0).log().unsqueeze(-1));
}

// The kernel of appendix A, K_l = sum_n c b q^l, (D, count).
Tensor kernel(const EmaCoefficients& coefficients, int64_t count) {
  const Tensor weight = (coefficients.b * coefficients.c).unsqueeze(1);
  return torch::matmul(weight, powers(coefficients.q, count)).squeeze(1);
}

// FFTs support float and double only.
Tensor widened(const Tensor& x) {
  if (!x.defined() || x.scalar_type() == torch::kFloat || x.scalar_type() == torch::kDouble) return x;
  return x.to(torch::kFloat);
}

EmaSums reference(const Tensor& x, const EmaCoefficients& coefficients, const EmaSettings& settings,
                  const Tensor& state) {
  return x.size(1) == 1 ? ema_recurrence(x, coefficients, settings, state)
                        : ema_convolution(x, coefficients, settings, state);
}

void check(const Tensor& x, const EmaCoefficients& coefficients, const Tensor& omega, const Tensor& mask,
           const EmaSettings& settings, const Tensor* state) {
  require(x.dim() == 3 && x.is_floating_point(),
          "the EMA takes (batch, length, width) of floating point, not ", x.sizes(), " of ", x.scalar_type());
  const int64_t batch = x.size(0), length = x.size(1), width = x.size(2);
  const Tensor& q = coefficients.q;
  require(q.dim() == 2 && q.size(0) == (settings.bidirectional ? 2 : 1) * width, "a ",
          settings.bidirectional ? "bidirectional" : "unidirectional", " EMA of width ", width,
          " cannot have coefficients of ", q.sizes());
  for (const Tensor& t : {q, coefficients.b, coefficients.c})
    require(t.sizes() == q.sizes() && t.scalar_type() == x.scalar_type(), "the EMA's input is ", x.sizes(),
            " of ", x.scalar_type(), ", its coefficients are ", q.sizes(), " and ", t.sizes(), " of ",
            t.scalar_type());
  require(!omega.defined() ||
              (omega.dim() == 1 && omega.size(0) == width && omega.scalar_type() == x.scalar_type()),
          "the EMA's omega must be (", width, ") of ", x.scalar_type());
  require(!mask.defined() || (mask.dim() == 2 && mask.size(0) == batch && mask.size(1) == length &&
                              mask.scalar_type() == torch::kBool),
          "the EMA's mask must be (", batch, ", ", length, ") of Bool, true = padding");
  require(settings.truncation >= 0, "truncation must be 0 (none) or a number of lags, not ",
          settings.truncation);
  if (state == nullptr) return;
  require(!settings.bidirectional, "a bidirectional EMA cannot carry a state: it depends on future inputs");
  require(!state->defined() || (state->sizes() == torch::IntArrayRef{batch, width, q.size(1)} &&
                                state->scalar_type() == x.scalar_type()),
          "the EMA's state must be (", batch, ", ", width, ", ", q.size(1), ") of ", x.scalar_type());
}

}  // namespace

EmaSums ema_recurrence(const Tensor& x, const EmaCoefficients& coefficients, const EmaSettings& settings,
                       const Tensor& state) {
  const int64_t length = x.size(1), width = x.size(2);
  if (settings.bidirectional) {
    EmaSettings one_way = settings;
    one_way.bidirectional = false;
    const Tensor back = ema_recurrence(x, direction(coefficients, width, false), one_way).sums;
    Tensor ahead = ema_recurrence(x.flip(1), direction(coefficients, width, true), one_way).sums.flip(1);
    if (settings.shift) ahead = torch::constant_pad_nd(ahead.narrow(1, 1, length - 1), {0, 0, 0, 1});
    return {back + ahead, {}};
  }
  const auto& [q, b, c] = coefficients;
  const int64_t truncation = state.defined() ? 0 : settings.truncation;
  Tensor h = state.defined() ? state : x.new_zeros({x.size(0), width, q.size(1)});
  std::vector<Tensor> sums;
  for (int64_t t = 0; t < length; ++t) {
    h = q * h + b * x.select(1, t).unsqueeze(-1);
    if (truncation > 0 && t >= truncation)
      h = h - q.pow(truncation) * b * x.select(1, t - truncation).unsqueeze(-1);
    sums.push_back((c * h).sum(-1));
  }
  return {torch::stack(sums, 1), state.defined() ? h : Tensor()};
}

EmaSums ema_convolution(const Tensor& x, const EmaCoefficients& coefficients, const EmaSettings& settings,
                        const Tensor& state) {
  const int64_t length = x.size(1), width = x.size(2);
  const bool cut = settings.truncation > 0 && settings.truncation < length && !state.defined();
  const int64_t lags = cut ? settings.truncation : length;
  // At this size the circular convolution equals the linear one at the positions we read; forward-looking
  // lags wrap around to the end. Shifted ones reach one position farther.
  const int64_t size = fast_length(length + lags - (settings.shift ? 0 : 1));
  const EmaCoefficients back = direction(coefficients, width, false);
  Tensor spectrum = torch::fft::rfft(kernel(back, lags), size);
  if (settings.bidirectional) {
    const Tensor ahead = kernel(direction(coefficients, width, true), lags);
    const Tensor delayed = settings.shift ? torch::constant_pad_nd(ahead, {1, 0}) : ahead;
    spectrum = spectrum + torch::conj(torch::fft::rfft(delayed, size));
  }
  const Tensor product = torch::fft::rfft(x.transpose(1, 2), size) * spectrum;
  Tensor sums =
      torch::fft::irfft(product, size).index({torch::indexing::Ellipsis, Slice(0, length)}).transpose(1, 2);
  if (!state.defined()) return {sums, {}};

  // The contribution of the initial state at t is q^(t+1) h.
  const Tensor decays = powers(back.q, length + 1);
  const Tensor rest = torch::einsum("dn,dnl,bdn->bld", {back.c, decays.narrow(2, 1, length), state});
  const Tensor entered = torch::einsum("dnl,bld->bdn", {decays.narrow(2, 0, length).flip(2), x});
  return {sums + rest, decays.select(2, length) * state + back.b * entered};
}

Tensor ema(const Tensor& x, const EmaCoefficients& coefficients, const Tensor& omega, const Tensor& mask,
           const EmaSettings& settings, Tensor* state) {
  check(x, coefficients, omega, mask, settings, state);
  Tensor before;
  if (state != nullptr)
    before = state->defined() ? *state : x.new_zeros({x.size(0), x.size(2), coefficients.q.size(1)});
  if (use_fused(x)) {
    const auto [y, after] = ema_fused(x, coefficients, omega, mask, settings, before);
    if (state != nullptr) *state = after;
    return y;
  }

  const Tensor seen = mask.defined() ? x.masked_fill(mask.unsqueeze(-1), 0.0) : x;
  const auto& [q, b, c] = coefficients;
  const auto [sums, after] =
      reference(widened(seen), {widened(q), widened(b), widened(c)}, settings, widened(before));
  Tensor y = sums.to(x.scalar_type());
  if (omega.defined()) y = y + omega * x;
  if (settings.activated) y = torch::silu(y);
  if (state != nullptr) *state = after.to(x.scalar_type());
  return y;
}

}  // namespace mega::ops
