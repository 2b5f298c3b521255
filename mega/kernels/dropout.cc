#include "mega/kernels/dropout.h"

#include "mega/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mega/kernels/dropout.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "mega/kernels/dispatch.h"
#include "mega/kernels/dropout-inl.h"
#include "mega/kernels/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {

void MaskRows(const Dropout& dropout, float* mask_out, int64_t begin, int64_t end, int64_t columns) {
  const Floats d;
  for (int64_t row = begin; row < end; ++row) {
    const DropoutRow<Floats> mask(d, dropout, static_cast<uint64_t>(row));
    ForVectors(columns, [&](auto view, int64_t c)
                            HWY_ATTR { view.Store(mask.Factor(d, c), mask_out + row * columns + c); });
  }
}

}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mega::kernels {

MEGA_EXPORT(MaskRows);

void dropout_mask_rows(const Dropout& dropout, float* mask, int64_t begin, int64_t end, int64_t columns) {
  MEGA_DISPATCH(MaskRows)(dropout, mask, begin, end, columns);
}

}  // namespace mega::kernels
#endif
