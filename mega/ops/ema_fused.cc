#include "mega/ops/ema_fused.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/kernels/ema.h"
#include "mega/ops/maybe.h"
#include "mega/ops/parallel.h"
#include "mega/ops/phase.h"
#include "mega/ops/precision.h"
#include "mega/ops/saved.h"

namespace mega::ops {
namespace {

using kernels::EmaOutput;
using kernels::EmaRows;
using kernels::EmaTime;
using kernels::EmaWeights;
using kernels::kEmaLanes;
using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Converts (..., D, N) to (..., G, N, kEmaLanes), the layout of the kernels, and back.
Tensor packed(const Tensor& rows) {
  const int64_t width = rows.size(-2), n = rows.size(-1), groups = kernels::ema_groups(width);
  std::vector<int64_t> shape(rows.sizes().begin(), rows.sizes().end() - 2);
  shape.insert(shape.end(), {groups, n, kEmaLanes});
  const Tensor from = rows.contiguous(), to = torch::empty(shape, rows.options());
  for (int64_t i = 0; i < rows.numel() / (width * n); ++i)
    kernels::ema_pack(from.data_ptr<float>() + i * width * n, width, n,
                      to.data_ptr<float>() + i * groups * n * kEmaLanes);
  return to;
}

Tensor unpacked(const Tensor& groups, int64_t width) {
  const int64_t count = groups.size(-3), n = groups.size(-2);
  std::vector<int64_t> shape(groups.sizes().begin(), groups.sizes().end() - 3);
  shape.insert(shape.end(), {width, n});
  const Tensor from = groups.contiguous(), to = torch::empty(shape, groups.options());
  for (int64_t i = 0; i < to.numel() / (width * n); ++i)
    kernels::ema_unpack(from.data_ptr<float>() + i * count * n * kEmaLanes, width, n,
                        to.data_ptr<float>() + i * width * n);
  return to;
}

Tensor power(const Tensor& q, int64_t exponent) {
  return q.to(torch::kDouble).pow(exponent).to(torch::kFloat);
}

// d q^exponent / dq
Tensor power_slope(const Tensor& q, int64_t exponent) {
  return (static_cast<double>(exponent) * q.to(torch::kDouble).pow(exponent - 1)).to(torch::kFloat);
}

const float* pointer(const Tensor& t) { return t.defined() ? t.data_ptr<float>() : nullptr; }
const uint8_t* pointer(const Tensor& mask, int64_t row) {
  return mask.defined() ? reinterpret_cast<const uint8_t*>(mask.data_ptr<bool>()) + row * mask.size(1)
                        : nullptr;
}

// How the work is divided: an item is a batch row, a group of channels and a piece of time. Time is split
// only if rows and groups are too few to keep all threads busy, because it makes the scan 1.5 times as
// expensive.
struct Plan {
  int64_t batch, length, width, n, groups, pieces, piece;

  Plan(const Tensor& x, const Tensor& q, const EmaSettings& settings)
      : batch(x.size(0)),
        length(x.size(1)),
        width(x.size(2)),
        n(q.size(1)),
        groups(kernels::ema_groups(width)) {
    constexpr int64_t kWorthwhile = 512;
    const int64_t spare =
        at::in_parallel_region() ? 1 : at::get_num_threads() / std::max<int64_t>(1, batch * groups);
    pieces = settings.pieces > 0 ? settings.pieces : std::min(spare, length / kWorthwhile);
    pieces = std::clamp<int64_t>(pieces, 1, std::max<int64_t>(1, length));
    piece = (length + pieces - 1) / pieces;
    pieces = std::max<int64_t>(1, (length + piece - 1) / piece);
  }

  // The same pieces of a sequence that ends one position earlier.
  Plan without_last() const {
    Plan plan = *this;
    --plan.length;
    return plan;
  }

  int64_t begin(int64_t k) const { return k * piece; }
  int64_t end(int64_t k) const { return std::min(length, (k + 1) * piece); }
  int64_t lanes(int64_t group) const { return std::min(kEmaLanes, width - group * kEmaLanes); }

  // Calls body(row, group, piece) for all items, in parallel.
  template <class Body>
  void each(const Body& body) const {
    parallel_for(0, batch * groups * pieces, 1, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) body(i / (groups * pieces), i / pieces % groups, i % pieces);
    });
  }
};

// One item's view of a contiguous (B, L, D) tensor.
EmaRows rows(const Plan& plan, const Tensor& x, int64_t row, int64_t group,
             const uint8_t* padding = nullptr) {
  return {x.data_ptr<float>() + row * plan.length * plan.width + group * kEmaLanes, plan.width, plan.length,
          plan.lanes(group), padding};
}

// One scan of the whole batch, in pieces. With several pieces, each is first advanced from a zero state to
// obtain the states between pieces (`connect`), then run from its true state.
class Scan {
 public:
  struct Weights {
    Tensor q, output, input;  // (D, N)
    int64_t truncation = 0;
  };

  Scan(const Plan& plan, const Weights& weights, bool reverse, bool with_slope)
      : plan_(plan), reverse_(reverse), truncation_(weights.truncation), q_(packed(weights.q)) {
    if (weights.output.defined()) output_ = packed(weights.output);
    if (weights.input.defined()) input_ = packed(weights.input);
    if (truncation_ > 0) cut_ = power(q_, truncation_);
    if (truncation_ > 0) cut_slope_ = power_slope(q_, truncation_);
    state_ = torch::zeros({plan.pieces, plan.batch, plan.groups, plan.n, kEmaLanes}, q_.options());
    if (with_slope) slope_ = torch::zeros_like(state_);
  }

  // Sets the state before the first step. If `arrived`, the first step adds to it without decay.
  void start(const Tensor& state, bool arrived) {
    state_[first()].copy_(packed(state));
    if (arrived) ones_ = torch::ones({plan_.n, kEmaLanes}, q_.options());
  }

  // Advances from a zero state, for connect(). If the kernel is truncated within a piece, the last T inputs
  // determine the state.
  void advance(const EmaRows& x, int64_t row, int64_t group, int64_t k) const {
    if (k == last()) return;
    EmaWeights w = weights(group);
    EmaTime part = time(k);
    if (forgets()) {
      part.begin = std::max<int64_t>(0, part.end - truncation_);
      w.truncation = 0;
    }
    float* state = at(state_, after(k), row, group);
    if (slope_.defined()) {
      kernels::ema_slope(x, w, part, state, at(slope_, after(k), row, group), nullptr, nullptr);
    } else {
      kernels::ema_scan(x, w, part, state, nullptr);
    }
  }

  // Turns states that started from zero into states that continue the previous piece.
  void connect() const {
    if (forgets()) return;
    for (int64_t k = first(); k != last(); k = after(k)) {
      const int64_t steps = plan_.end(k) - plan_.begin(k) - (ones_.defined() && k == first() ? 1 : 0);
      const Tensor decay = power(q_, steps);
      state_[after(k)].addcmul_(decay, state_[k]);
      if (slope_.defined())
        slope_[after(k)].addcmul_(decay, slope_[k]).addcmul_(power_slope(q_, steps), state_[k]);
    }
  }

  void run(const EmaRows& x, int64_t row, int64_t group, int64_t k, const EmaOutput& output) const {
    EmaTime part = time(k);
    float* state = at(state_, k, row, group);
    if (ones_.defined() && part.begin == 0) {
      EmaWeights undecayed = weights(group);
      undecayed.decay = pointer(ones_);
      kernels::ema_scan(x, undecayed, {0, 1, part.reverse}, state, &output);
      part.begin = 1;
    }
    kernels::ema_scan(x, weights(group), part, state, &output);
  }

  void run_slope(const EmaRows& x, int64_t row, int64_t group, int64_t k, const float* g, float* sums) const {
    kernels::ema_slope(x, weights(group), time(k), at(state_, k, row, group), at(slope_, k, row, group), g,
                       sums);
  }

  // Valid after all pieces have run: E and dE/dq of the last step, (B, D, N).
  Tensor state() const { return unpacked(state_[last()], plan_.width); }
  Tensor slope() const { return unpacked(slope_[last()], plan_.width); }

 private:
  int64_t first() const { return reverse_ ? plan_.pieces - 1 : 0; }
  int64_t last() const { return reverse_ ? 0 : plan_.pieces - 1; }
  int64_t after(int64_t k) const { return reverse_ ? k - 1 : k + 1; }

  bool forgets() const { return truncation_ > 0 && truncation_ <= plan_.piece; }

  EmaTime time(int64_t k) const {
    if (reverse_) return {plan_.length - plan_.end(k), plan_.length - plan_.begin(k), true};
    return {plan_.begin(k), plan_.end(k), false};
  }

  EmaWeights weights(int64_t group) const {
    const auto of_group = [&](const Tensor& t) {
      return t.defined() ? t.data_ptr<float>() + group * plan_.n * kEmaLanes : nullptr;
    };
    return {plan_.n,     of_group(q_),   of_group(output_),   of_group(input_),
            truncation_, of_group(cut_), of_group(cut_slope_)};
  }

  float* at(const Tensor& states, int64_t k, int64_t row, int64_t group) const {
    if (!states.defined()) return nullptr;
    return states.data_ptr<float>() + ((k * plan_.batch + row) * plan_.groups + group) * plan_.n * kEmaLanes;
  }

  const Plan& plan_;
  bool reverse_;
  int64_t truncation_;
  Tensor q_, output_, input_, cut_, cut_slope_;  // (G, N, kEmaLanes)
  Tensor ones_;                                  // (N, kEmaLanes)
  Tensor state_, slope_;  // (pieces, B, G, N, kEmaLanes): before the piece, and after it once it has run
};

// The inputs of forward and backward.
struct Inputs {
  Tensor x, q, b, c, omega, state, mask;  // contiguous
  EmaSettings settings;

  int64_t directions() const { return settings.bidirectional ? 2 : 1; }
  bool shifted() const { return settings.bidirectional && settings.shift; }
  // The order in which directions add to a result. The last one also adds the skip, so it must see every
  // position at its place, which a shifted one does not.
  std::vector<int64_t> order() const {
    if (!settings.bidirectional) return {0};
    return shifted() ? std::vector<int64_t>{1, 0} : std::vector<int64_t>{0, 1};
  }
  bool stateful() const { return state.defined(); }
  int64_t truncation() const { return stateful() ? 0 : settings.truncation; }
  Tensor direction(const Tensor& t, int64_t r) const { return t.narrow(0, r * x.size(2), x.size(2)); }
};

struct Outputs {
  Tensor y, linear, state;
};

// One item's view of what direction r reads of x: shifted sums at t are those of x without its first
// position.
EmaRows source_rows(const Plan& plan, const Inputs& in, int64_t row, int64_t group, int64_t r) {
  EmaRows x = rows(plan, in.x, row, group, pointer(in.mask, row));
  if (r == 0 || !in.shifted()) return x;
  x.data += x.stride;
  --x.length;
  if (x.padding != nullptr) ++x.padding;
  return x;
}

// Without a state the input weights are folded into the output weights at no cost: E = h / b. With a state
// this is not possible, as b may be zero where h is not.
Outputs forward(const Inputs& in, bool keep_linear) {
  const Plan plan(in.x, in.q, in.settings), shorter = plan.without_last();
  Outputs out{torch::empty_like(in.x), {}, {}};
  if (keep_linear && in.settings.activated) out.linear = torch::empty_like(in.x);

  std::vector<Scan> scans;
  for (int64_t r = 0; r < in.directions(); ++r) {
    const Tensor q = in.direction(in.q, r), b = in.direction(in.b, r), c = in.direction(in.c, r);
    scans.emplace_back(
        r == 1 && in.shifted() ? shorter : plan,
        Scan::Weights{q, in.stateful() ? c : b * c, in.stateful() ? b : Tensor(), in.truncation()}, r == 1,
        false);
  }
  if (in.stateful()) scans[0].start(in.state, false);
  if (in.shifted()) out.y.select(1, plan.length - 1).zero_();  // nothing comes after it
  const std::vector<int64_t> order = in.order();

  if (plan.pieces > 1) {
    plan.each([&](int64_t row, int64_t group, int64_t k) {
      for (const int64_t r : order)
        scans[static_cast<size_t>(r)].advance(source_rows(plan, in, row, group, r), row, group, k);
    });
    for (const Scan& scan : scans) scan.connect();
  }
  plan.each([&](int64_t row, int64_t group, int64_t k) {
    const int64_t at = row * plan.length * plan.width + group * kEmaLanes;
    EmaOutput output;
    output.data = out.y.data_ptr<float>() + at;
    output.stride = plan.width;
    for (const int64_t r : order) {
      if (r == order.back()) {
        output.skip = in.omega.defined() ? pointer(in.omega) + group * kEmaLanes : nullptr;
        output.silu = in.settings.activated;
        output.linear = out.linear.defined() ? out.linear.data_ptr<float>() + at : nullptr;
      }
      scans[static_cast<size_t>(r)].run(source_rows(plan, in, row, group, r), row, group, k, output);
      output.accumulate = true;
    }
  });
  if (in.stateful()) out.state = scans[0].state();
  return out;
}

struct Gradients {
  Tensor x, q, b, c, omega, state;
};

// Let g be the gradient of the sums s and w that of the state after x:
//   dx is the same scan of g in the opposite direction;
//   s = sum_n c (b E + q^(t+1) h), where E starts from zero and h is the state before x, so dq, db, dc and dh
//   follow from sum_t g E, sum_t g dE/dq, R = sum_t g q^(t+1), and the last E and dE/dq.
Gradients backward(const Inputs& in, const Tensor& linear, const Tensor& dy, const Tensor& w, bool needs_x,
                   bool needs_coefficients) {
  const Plan plan(in.x, in.q, in.settings), shorter = plan.without_last();
  const auto options = in.x.options();
  Gradients d;
  if (needs_x) d.x = torch::empty_like(in.x);

  std::vector<Scan> over_x, over_g, left;
  for (int64_t r = 0; r < in.directions(); ++r) {
    const Tensor q = in.direction(in.q, r), b = in.direction(in.b, r), c = in.direction(in.c, r);
    if (needs_coefficients)
      over_x.emplace_back(r == 1 && in.shifted() ? shorter : plan, Scan::Weights{q, {}, {}, in.truncation()},
                          r == 1, true);
    if (needs_x)
      over_g.emplace_back(
          plan, Scan::Weights{q, in.stateful() ? b : b * c, in.stateful() ? c : Tensor(), in.truncation()},
          r == 0, false);
  }
  if (in.stateful()) {
    if (needs_x) over_g[0].start(w, true);
    left.emplace_back(plan, Scan::Weights{in.q, {}, {}, 0}, true, true);
  }

  const Tensor sums =
      torch::zeros({in.directions(), plan.pieces, plan.batch, plan.groups, 2, plan.n, kEmaLanes}, options);
  const Tensor skips = torch::zeros({plan.pieces, plan.batch, plan.groups, kEmaLanes}, options);
  // g of an item, (L, kEmaLanes): stored for all items only if pieces depend on each other. A position of
  // zeros before it lets the shifted direction read g_{t-1} at t.
  const int64_t before = in.shifted() ? 1 : 0, slot_size = (before + plan.length) * kEmaLanes;
  const Tensor all_g =
      torch::empty({plan.pieces > 1 ? plan.batch * plan.groups : at::get_num_threads(), slot_size}, options);
  if (before > 0) all_g.narrow(1, 0, kEmaLanes).zero_();
  const auto g_of = [&](int64_t row, int64_t group) {
    const int64_t slot = plan.pieces > 1 ? row * plan.groups + group : at::get_thread_num();
    return all_g.data_ptr<float>() + slot * slot_size + before * kEmaLanes;
  };
  const auto source = [&](int64_t row, int64_t group, size_t r) {
    return source_rows(plan, in, row, group, static_cast<int64_t>(r));
  };
  const auto gradient = [&](int64_t row, int64_t group, size_t r) {
    const float* g = g_of(row, group) - (r == 1 ? before : 0) * kEmaLanes;
    return EmaRows{g, kEmaLanes, plan.length, plan.lanes(group), nullptr};
  };

  const auto activate = [&](int64_t row, int64_t group, int64_t k) {
    const int64_t at = row * plan.length * plan.width + group * kEmaLanes;
    kernels::ema_output_gradient(
        source(row, group, 0), pointer(dy) + at, linear.defined() ? pointer(linear) + at : nullptr,
        plan.begin(k), plan.end(k), g_of(row, group),
        skips.data_ptr<float>() + ((k * plan.batch + row) * plan.groups + group) * kEmaLanes);
  };
  const auto advance = [&](int64_t row, int64_t group, int64_t k) {
    for (size_t r = 0; r < over_x.size(); ++r) over_x[r].advance(source(row, group, r), row, group, k);
    for (size_t r = 0; r < over_g.size(); ++r) over_g[r].advance(gradient(row, group, r), row, group, k);
    for (const Scan& scan : left) scan.advance(gradient(row, group, 0), row, group, k);
  };
  const std::vector<int64_t> order = needs_x ? in.order() : std::vector<int64_t>();
  const auto finish = [&](int64_t row, int64_t group, int64_t k) {
    for (size_t r = 0; r < over_x.size(); ++r)
      over_x[r].run_slope(source(row, group, r), row, group, k, g_of(row, group),
                          sums.data_ptr<float>() + static_cast<int64_t>(r) * sums.stride(0) +
                              k * sums.stride(1) + row * sums.stride(2) + group * sums.stride(3));
    EmaOutput output;
    output.stride = plan.width;
    for (const int64_t direction : order) {
      const auto r = static_cast<size_t>(direction);
      output.data = d.x.data_ptr<float>() + row * plan.length * plan.width + group * kEmaLanes;
      if (direction == order.back()) {
        output.padding = pointer(in.mask, row);
        output.skip = in.omega.defined() ? pointer(in.omega) + group * kEmaLanes : nullptr;
      }
      over_g[r].run(gradient(row, group, r), row, group, k, output);
      output.accumulate = true;
    }
    for (const Scan& scan : left) scan.run_slope(gradient(row, group, 0), row, group, k, nullptr, nullptr);
  };
  if (plan.pieces == 1) {
    plan.each([&](int64_t row, int64_t group, int64_t k) {
      activate(row, group, k);
      finish(row, group, k);
    });
  } else {
    plan.each(activate);
    plan.each(advance);
    for (auto* scans : {&over_x, &over_g, &left})
      for (const Scan& scan : *scans) scan.connect();
    plan.each(finish);
  }

  if (in.omega.defined())
    d.omega = skips.sum(torch::IntArrayRef{0, 1}).flatten().narrow(0, 0, plan.width).clone();
  if (needs_coefficients) {
    // (B, kD, N)
    const auto total = [&](int64_t which) {
      return unpacked(sums.sum(1).select(3, which).transpose(0, 1), plan.width).flatten(1, 2);
    };
    const Tensor ge = total(0), gde = total(1);
    d.q = in.b * in.c * gde;
    d.b = in.c * ge;
    d.c = in.b * ge;
    if (in.stateful()) {
      const Tensor r = in.q * left[0].state(), dr = left[0].state() + in.q * left[0].slope();
      d.q +=
          in.c * in.state * dr + w * (in.b * over_x[0].slope() + power_slope(in.q, plan.length) * in.state);
      d.b += w * over_x[0].state();
      d.c += r * in.state;
    }
    for (Tensor* t : {&d.q, &d.b, &d.c}) *t = t->sum(0);
  }
  if (in.stateful()) d.state = in.c * in.q * left[0].state() + power(in.q, plan.length) * w;
  return d;
}

class EmaFunction : public torch::autograd::Function<EmaFunction> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& x, const Tensor& q, const Tensor& b,
                               const Tensor& c, const MaybeTensor& omega, const MaybeTensor& state,
                               const MaybeTensor& mask, const EmaSettings& settings, bool differentiable) {
    const PhaseMark mark(Phase::ema);
    const Inputs in{
        x, q, b, c, omega.value_or(Tensor()), state.value_or(Tensor()), mask.value_or(Tensor()), settings};
    const Outputs out = ops::forward(in, differentiable);
    const Tensor kept = stored_once(x, differentiable && settings.rounded && use_bf16());
    context->save_for_backward({kept, q, b, c, in.omega, in.state, in.mask, out.linear});
    save(context, settings);
    if (in.stateful()) return {out.y, out.state};
    return {out.y};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    require_first_derivative("the EMA");
    const PhaseMark mark(Phase::ema);
    const variable_list kept = context->get_saved_variables();
    const Inputs in{kept[0].to(torch::kFloat),  kept[1], kept[2], kept[3], kept[4], kept[5], kept[6],
                    saved<EmaSettings>(context)};
    const bool coefficients =
        context->needs_input_grad(1) || context->needs_input_grad(2) || context->needs_input_grad(3);
    const Tensor w = in.stateful() ? grads[1].contiguous() : Tensor();
    const Gradients d =
        ops::backward(in, kept[7], grads[0].contiguous(), w, context->needs_input_grad(0), coefficients);
    return {d.x, d.q, d.b, d.c, d.omega, d.state, {}, {}, {}};
  }
};

// One token without gradients: the recurrence itself, on the unpacked state.
EmaFused step(const Inputs& in) {
  const int64_t batch = in.x.size(0), width = in.x.size(2), n = in.q.size(1);
  EmaFused out{torch::empty_like(in.x), torch::empty_like(in.state)};
  parallel_for(0, batch, std::max<int64_t>(1, 65536 / (width * n)), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const uint8_t* padding = pointer(in.mask, row);
      const kernels::EmaStep token{n,
                                   pointer(in.q),
                                   pointer(in.b),
                                   pointer(in.c),
                                   pointer(in.omega),
                                   in.settings.activated,
                                   padding != nullptr && *padding != 0};
      const int64_t state = row * width * n;
      kernels::ema_step(token, 0, width, pointer(in.x) + row * width, pointer(in.state) + state,
                        out.state.data_ptr<float>() + state, out.y.data_ptr<float>() + row * width);
    }
  });
  return out;
}

}  // namespace

EmaFused ema_fused(const Tensor& x, const EmaCoefficients& coefficients, const Tensor& omega,
                   const Tensor& mask, const EmaSettings& settings, const Tensor& state) {
  const auto whole = [](const Tensor& t) { return t.defined() ? t.contiguous() : t; };
  const Inputs in{whole(x),     whole(coefficients.q), whole(coefficients.b), whole(coefficients.c),
                  whole(omega), whole(state),          whole(mask),           settings};
  bool differentiable = false;
  for (const Tensor& t : {in.x, in.q, in.b, in.c, in.omega, in.state})
    differentiable |= torch::GradMode::is_enabled() && t.defined() && t.requires_grad();
  if (in.stateful() && x.size(1) == 1 && !differentiable) return step(in);
  const variable_list out = EmaFunction::apply(in.x, in.q, in.b, in.c, maybe(in.omega), maybe(in.state),
                                               maybe(in.mask), settings, differentiable);
  return {out[0], in.stateful() ? out[1] : Tensor()};
}

}  // namespace mega::ops
