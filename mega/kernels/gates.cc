#include "mega/kernels/gates.h"

#include "mega/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mega/kernels/gates.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "mega/kernels/dispatch.h"
#include "mega/kernels/dropout-inl.h"
#include "mega/kernels/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {

// What is computed from numbers of bf16 need not be more exact than they are.
template <class T>
inline constexpr Accuracy kAccuracyOf = std::is_same_v<T, uint16_t> ? Accuracy::bf16 : Accuracy::full;

// Calls body with std::true_type or std::false_type for dropout on or off.
template <class Body>
HWY_INLINE void WithDropout(const Dropout& dropout, const Body& body) {
  return dropout.active() ? body(std::true_type()) : body(std::false_type());
}

template <class T>
void ActivateRows(Activation activation, const Dropout& dropout, RowsOf<const T> x, RowsOf<T> y,
                  int64_t begin, int64_t end, int64_t columns) {
  const Floats d;
  WithActivation(activation, [&](auto kind) HWY_ATTR {
    WithDropout(dropout, [&](auto drop) HWY_ATTR {
      for (int64_t row = begin; row < end; ++row) {
        const DropoutRow<Floats> mask(d, dropout, static_cast<uint64_t>(row));
        ForVectors(columns, [&](auto view, int64_t c) HWY_ATTR {
          Vector value = Activate<kind(), kAccuracyOf<T>>(view.Load(x[row] + c)).value;
          if constexpr (drop()) value = hn::Mul(value, mask.Factor(d, c));
          view.Store(value, y[row] + c);
        });
      }
    });
  });
}

template <class X, class D, class Y>
void ActivateBackwardRows(Activation activation, const Dropout& dropout, RowsOf<const X> x,
                          RowsOf<const Y> dy, RowsOf<D> dx, int64_t begin, int64_t end, int64_t columns,
                          RowsOf<X> y) {
  const Floats d;
  WithActivation(activation, [&](auto kind) HWY_ATTR {
    WithDropout(dropout, [&](auto drop) HWY_ATTR {
      for (int64_t row = begin; row < end; ++row) {
        const DropoutRow<Floats> mask(d, dropout, static_cast<uint64_t>(row));
        ForVectors(columns, [&](auto view, int64_t c) HWY_ATTR {
          ValueAndSlope activated = Activate<kind(), kAccuracyOf<X>>(view.Load(x[row] + c));
          if constexpr (drop()) {
            const Vector factor = mask.Factor(d, c);
            activated = {hn::Mul(activated.value, factor), hn::Mul(activated.slope, factor)};
          }
          view.Store(hn::Mul(view.Load(dy[row] + c), activated.slope), dx[row] + c);
          if (y.data != nullptr) view.Store(activated.value, y[row] + c);
        });
      }
    });
  });
}

template <class T>
void GateRows(RowsOf<const T> a, RowsOf<const T> b, RowsOf<T> y, int64_t begin, int64_t end,
              int64_t columns) {
  for (int64_t row = begin; row < end; ++row) {
    ForVectors(columns, [&](auto view, int64_t c) HWY_ATTR {
      const Vector silu = Activate<Activation::silu, kAccuracyOf<T>>(view.Load(b[row] + c)).value;
      view.Store(hn::Mul(view.Load(a[row] + c), silu), y[row] + c);
    });
  }
}

template <class T>
void GateBackwardRows(RowsOf<const T> a, RowsOf<const T> b, RowsOf<const T> dy, RowsOf<T> da, RowsOf<T> db,
                      RowsOf<T> y, int64_t begin, int64_t end, int64_t columns) {
  for (int64_t row = begin; row < end; ++row) {
    ForVectors(columns, [&](auto view, int64_t c) HWY_ATTR {
      const ValueAndSlope silu = Activate<Activation::silu, kAccuracyOf<T>>(view.Load(b[row] + c));
      const Vector gradient = view.Load(dy[row] + c), gated = view.Load(a[row] + c);
      view.Store(hn::Mul(gradient, silu.value), da[row] + c);
      view.Store(hn::Mul(hn::Mul(gradient, gated), silu.slope), db[row] + c);
      view.Store(hn::Mul(gated, silu.value), y[row] + c);
    });
  }
}

template <class T>
void ShareRows(RowsOf<const T> x, const float* gamma, const float* beta, RowsOf<T> q, RowsOf<T> k,
               int64_t begin, int64_t end, int64_t columns) {
  for (int64_t row = begin; row < end; ++row) {
    ForVectors(columns, [&](auto view, int64_t c) HWY_ATTR {
      const Vector z = Activate<Activation::silu, kAccuracyOf<T>>(view.Load(x[row] + c)).value;
      view.Store(hn::MulAdd(z, view.Load(gamma + c), view.Load(beta + c)), q[row] + c);
      view.Store(hn::MulAdd(z, view.Load(gamma + columns + c), view.Load(beta + columns + c)), k[row] + c);
    });
  }
}

template <class T>
void ShareBackwardRows(RowsOf<const T> x, const float* gamma, ConstRows dq, ConstRows dk, RowsOf<T> dx,
                       float* dgamma, float* dbeta, int64_t begin, int64_t end, int64_t columns) {
  const Floats d;
  // Columns in the outer loop, rows in the inner: the four sums stay in registers.
  ForVectors(columns, [&](auto view, int64_t c) HWY_ATTR {
    const Vector gamma_q = view.Load(gamma + c), gamma_k = view.Load(gamma + columns + c);
    Vector scale_q = hn::Zero(d), scale_k = hn::Zero(d), shift_q = hn::Zero(d), shift_k = hn::Zero(d);
    for (int64_t row = begin; row < end; ++row) {
      const ValueAndSlope z = Activate<Activation::silu, kAccuracyOf<T>>(view.Load(x[row] + c));
      const Vector to_q = view.Load(dq[row] + c), to_k = view.Load(dk[row] + c);
      scale_q = hn::MulAdd(to_q, z.value, scale_q);
      scale_k = hn::MulAdd(to_k, z.value, scale_k);
      shift_q = hn::Add(shift_q, to_q);
      shift_k = hn::Add(shift_k, to_k);
      const Vector dz = hn::MulAdd(to_q, gamma_q, hn::Mul(to_k, gamma_k));
      view.Store(hn::Mul(dz, z.slope), dx[row] + c);
    }
    view.Store(hn::Add(view.Load(dgamma + c), scale_q), dgamma + c);
    view.Store(hn::Add(view.Load(dgamma + columns + c), scale_k), dgamma + columns + c);
    view.Store(hn::Add(view.Load(dbeta + c), shift_q), dbeta + c);
    view.Store(hn::Add(view.Load(dbeta + columns + c), shift_k), dbeta + columns + c);
  });
}

template <class T>
void OutputGateRows(const OutputGateOf<T>& gate, Rows y, int64_t begin, int64_t end, int64_t columns) {
  const Floats d;
  WithActivation(gate.activation, [&](auto kind) HWY_ATTR {
    WithDropout(gate.dropout, [&](auto drop) HWY_ATTR {
      for (int64_t row = begin; row < end; ++row) {
        const DropoutRow<Floats> mask(d, gate.dropout, static_cast<uint64_t>(row));
        const Vector path = hn::Set(d, gate.factor(row));
        ForVectors(columns, [&](auto view, int64_t c) HWY_ATTR {
          const Vector update = Sigmoid<kAccuracyOf<T>>(d, view.Load(gate.update[row] + c));
          const Vector residual = view.Load(gate.residual[row] + c);
          Vector candidate = Activate<kind(), kAccuracyOf<T>>(view.Load(gate.candidate[row] + c)).value;
          if constexpr (drop()) candidate = hn::Mul(candidate, mask.Factor(d, c));
          view.Store(hn::MulAdd(update, hn::MulSub(candidate, path, residual), residual), y[row] + c);
        });
      }
    });
  });
}

template <class T>
void OutputGateBackwardRows(const OutputGateOf<T>& gate, ConstRows dy, RowsOf<T> dupdate,
                            RowsOf<T> dcandidate, Rows dresidual, int64_t begin, int64_t end,
                            int64_t columns) {
  const Floats d;
  WithActivation(gate.activation, [&](auto kind) HWY_ATTR {
    WithDropout(gate.dropout, [&](auto drop) HWY_ATTR {
      for (int64_t row = begin; row < end; ++row) {
        const DropoutRow<Floats> mask(d, gate.dropout, static_cast<uint64_t>(row));
        const Vector path = hn::Set(d, gate.factor(row));
        ForVectors(columns, [&](auto view, int64_t c) HWY_ATTR {
          const ValueAndSlope update =
              Activate<Activation::sigmoid, kAccuracyOf<T>>(view.Load(gate.update[row] + c));
          ValueAndSlope candidate = Activate<kind(), kAccuracyOf<T>>(view.Load(gate.candidate[row] + c));
          Vector factor = path;
          if constexpr (drop()) factor = hn::Mul(factor, mask.Factor(d, c));
          candidate = {hn::Mul(candidate.value, factor), hn::Mul(candidate.slope, factor)};
          const Vector gradient = view.Load(dy[row] + c);
          const Vector opened = hn::Mul(gradient, update.value);
          const Vector change = hn::Sub(candidate.value, view.Load(gate.residual[row] + c));
          view.Store(hn::Mul(gradient, hn::Mul(update.slope, change)), dupdate[row] + c);
          view.Store(hn::Mul(opened, candidate.slope), dcandidate[row] + c);
          view.Store(hn::Sub(gradient, opened), dresidual[row] + c);
        });
      }
    });
  });
}

template <class T>
void ColumnSums(RowsOf<const T> x, float* sums, int64_t begin, int64_t end, int64_t columns) {
  for (int64_t row = begin; row < end; ++row) {
    ForVectors(columns, [&](auto view, int64_t c) HWY_ATTR {
      view.Store(hn::Add(view.Load(sums + c), view.Load(x[row] + c)), sums + c);
    });
  }
}

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mega::kernels {

MEGA_EXPORT_T(ActivateRows);
MEGA_EXPORT_T(ActivateBackwardRows);
MEGA_EXPORT_T(GateRows);
MEGA_EXPORT_T(GateBackwardRows);
MEGA_EXPORT_T(ShareRows);
MEGA_EXPORT_T(ShareBackwardRows);
MEGA_EXPORT_T(OutputGateRows);
MEGA_EXPORT_T(OutputGateBackwardRows);
MEGA_EXPORT_T(ColumnSums);

template <class T>
void activate(Activation activation, const Dropout& dropout, RowsOf<const Same<T>> x, RowsOf<Same<T>> y,
              int64_t begin, int64_t end, int64_t columns) {
  MEGA_DISPATCH_T(ActivateRows, T)(activation, dropout, x, y, begin, end, columns);
}
template <class X, class D, class Y>
void activate_backward(Activation activation, const Dropout& dropout, RowsOf<const Same<X>> x,
                       RowsOf<const Same<Y>> dy, RowsOf<Same<D>> dx, int64_t begin, int64_t end,
                       int64_t columns, RowsOf<Same<X>> y) {
  MEGA_DISPATCH_T(ActivateBackwardRows, X, D, Y)(activation, dropout, x, dy, dx, begin, end, columns, y);
}
template <class T>
void gate(RowsOf<const Same<T>> a, RowsOf<const Same<T>> b, RowsOf<Same<T>> y, int64_t begin, int64_t end,
          int64_t columns) {
  MEGA_DISPATCH_T(GateRows, T)(a, b, y, begin, end, columns);
}
template <class T>
void gate_backward(RowsOf<const Same<T>> a, RowsOf<const Same<T>> b, RowsOf<const Same<T>> dy,
                   RowsOf<Same<T>> da, RowsOf<Same<T>> db, RowsOf<Same<T>> y, int64_t begin, int64_t end,
                   int64_t columns) {
  MEGA_DISPATCH_T(GateBackwardRows, T)(a, b, dy, da, db, y, begin, end, columns);
}
template <class T>
void share(RowsOf<const Same<T>> x, const float* gamma, const float* beta, RowsOf<Same<T>> q,
           RowsOf<Same<T>> k, int64_t begin, int64_t end, int64_t columns) {
  MEGA_DISPATCH_T(ShareRows, T)(x, gamma, beta, q, k, begin, end, columns);
}
template <class T>
void share_backward(RowsOf<const Same<T>> x, const float* gamma, ConstRows dq, ConstRows dk,
                    RowsOf<Same<T>> dx, float* dgamma, float* dbeta, int64_t begin, int64_t end,
                    int64_t columns) {
  MEGA_DISPATCH_T(ShareBackwardRows, T)(x, gamma, dq, dk, dx, dgamma, dbeta, begin, end, columns);
}
template <class T>
void output_gate(const OutputGateOf<Same<T>>& gate, Rows y, int64_t begin, int64_t end, int64_t columns) {
  MEGA_DISPATCH_T(OutputGateRows, T)(gate, y, begin, end, columns);
}
template <class T>
void output_gate_backward(const OutputGateOf<Same<T>>& gate, ConstRows dy, RowsOf<Same<T>> dupdate,
                          RowsOf<Same<T>> dcandidate, Rows dresidual, int64_t begin, int64_t end,
                          int64_t columns) {
  MEGA_DISPATCH_T(OutputGateBackwardRows, T)(gate, dy, dupdate, dcandidate, dresidual, begin, end, columns);
}
template <class T>
void add_column_sums(RowsOf<const Same<T>> x, float* sums, int64_t begin, int64_t end, int64_t columns) {
  MEGA_DISPATCH_T(ColumnSums, T)(x, sums, begin, end, columns);
}

#define MEGA_INSTANTIATE(X, D, Y)                                                                        \
  template void activate_backward<X, D, Y>(Activation, const Dropout&, RowsOf<const X>, RowsOf<const Y>, \
                                           RowsOf<D>, int64_t, int64_t, int64_t, RowsOf<X>);
MEGA_INSTANTIATE(float, float, float)
MEGA_INSTANTIATE(uint16_t, float, float)
MEGA_INSTANTIATE(uint16_t, float, uint16_t)
MEGA_INSTANTIATE(uint16_t, uint16_t, float)
MEGA_INSTANTIATE(uint16_t, uint16_t, uint16_t)
#undef MEGA_INSTANTIATE

#define MEGA_INSTANTIATE(T)                                                                               \
  template void activate<T>(Activation, const Dropout&, RowsOf<const T>, RowsOf<T>, int64_t, int64_t,     \
                            int64_t);                                                                     \
  template void gate<T>(RowsOf<const T>, RowsOf<const T>, RowsOf<T>, int64_t, int64_t, int64_t);          \
  template void gate_backward<T>(RowsOf<const T>, RowsOf<const T>, RowsOf<const T>, RowsOf<T>, RowsOf<T>, \
                                 RowsOf<T>, int64_t, int64_t, int64_t);                                   \
  template void share<T>(RowsOf<const T>, const float*, const float*, RowsOf<T>, RowsOf<T>, int64_t,      \
                         int64_t, int64_t);                                                               \
  template void share_backward<T>(RowsOf<const T>, const float*, ConstRows, ConstRows, RowsOf<T>, float*, \
                                  float*, int64_t, int64_t, int64_t);                                     \
  template void output_gate<T>(const OutputGateOf<T>&, Rows, int64_t, int64_t, int64_t);                  \
  template void output_gate_backward<T>(const OutputGateOf<T>&, ConstRows, RowsOf<T>, RowsOf<T>, Rows,    \
                                        int64_t, int64_t, int64_t);                                       \
  template void add_column_sums<T>(RowsOf<const T>, float*, int64_t, int64_t, int64_t);
MEGA_INSTANTIATE(float)
MEGA_INSTANTIATE(uint16_t)
#undef MEGA_INSTANTIATE

}  // namespace mega::kernels
#endif
