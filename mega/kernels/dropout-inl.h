// The dropout mask of a vector of columns. Included once per instruction set.
#if defined(MEGA_KERNELS_DROPOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MEGA_KERNELS_DROPOUT_INL_H_
#undef MEGA_KERNELS_DROPOUT_INL_H_
#else
#define MEGA_KERNELS_DROPOUT_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>

#include "mega/kernels/dropout.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The factor 0 or 1 / (1 - rate) for each column of one row, from an integer hash of row key and column.
template <class D>
class DropoutRow {
  using Bits = hn::RebindToUnsigned<D>;
  using Signed = hn::RebindToSigned<D>;

 public:
  DropoutRow(D, const Dropout& dropout, uint64_t row)
      : first_(hn::Add(hn::Mul(hn::Iota(Bits(), 0u), hn::Set(Bits(), kColumn)),
                       hn::Set(Bits(), dropout_row_key(dropout, row)))),
        threshold_(static_cast<int32_t>(std::lround(static_cast<double>(dropout.rate) * (1 << 24)))),
        factor_(dropout.factor()) {}

  HWY_INLINE hn::Vec<D> Factor(D d, int64_t column) const {
    const Bits bits;
    auto x = hn::Add(first_, hn::Set(bits, kColumn * static_cast<uint32_t>(column)));
    x = hn::Xor(x, hn::ShiftRight<16>(x));
    x = hn::Mul(x, hn::Set(bits, 0x7FEB352Du));
    x = hn::Xor(x, hn::ShiftRight<15>(x));
    x = hn::Mul(x, hn::Set(bits, 0x846CA68Bu));
    const auto uniform = hn::BitCast(Signed(), hn::ShiftRight<8>(hn::Xor(x, hn::ShiftRight<16>(x))));
    const auto keep = hn::Gt(uniform, hn::Set(Signed(), threshold_ - 1));
    return hn::IfThenElseZero(hn::RebindMask(d, keep), hn::Set(d, factor_));
  }

 private:
  static constexpr uint32_t kColumn = 0x9E3779B1u;
  hn::Vec<Bits> first_;  // row key + column * kColumn for the first columns
  int32_t threshold_;
  float factor_;
};

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
