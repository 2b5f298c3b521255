#include "mega/kernels/instruction_set.h"

#include "mega/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mega/kernels/instruction_set.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mega::kernels::HWY_NAMESPACE {
const char* Name() { return hwy::TargetName(HWY_TARGET); }
}  // namespace mega::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mega::kernels {
HWY_EXPORT(Name);
const char* instruction_set() { return HWY_DYNAMIC_DISPATCH(Name)(); }
}  // namespace mega::kernels
#endif
