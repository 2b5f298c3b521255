// Calls a kernel compiled for this machine's instruction set. Include after Highway's headers.
//
//   #if HWY_ONCE
//   MEGA_EXPORT(ScaleRows);  // names N_AVX2::ScaleRows and its siblings
//   void scale(float* x, int64_t n) { MEGA_DISPATCH(ScaleRows)(x, n); }
//   #endif
//
// Like HWY_EXPORT and HWY_DYNAMIC_DISPATCH, but without Highway's library, which Debian ships only as a
// shared one.
#pragma once

#include <cstddef>

#include "mega/kernels/instruction_set.h"

// In the order of InstructionSet; null for instruction sets that were not compiled.
#define MEGA_EXPORT(name)                                                                              \
  static constexpr decltype(&HWY_STATIC_DISPATCH(name)) name##InstructionSets[] = {                    \
      &HWY_STATIC_DISPATCH(name), HWY_CHOOSE_SSE4(name), HWY_CHOOSE_AVX2(name), HWY_CHOOSE_AVX3(name), \
      HWY_CHOOSE_AVX3(name)}

#define MEGA_DISPATCH(name) \
  (*name##InstructionSets[static_cast<size_t>(::mega::kernels::chosen_instruction_set())])

// The same for a kernel that is a template over types: MEGA_DISPATCH_T(ScaleRows, float)(x, n).
#define MEGA_EXPORT_T(name)                                                                       \
  template <class... T>                                                                           \
  static constexpr decltype(&HWY_STATIC_DISPATCH(name<T...>)) name##InstructionSets[] = {         \
      &HWY_STATIC_DISPATCH(name<T...>), HWY_CHOOSE_SSE4(name<T...>), HWY_CHOOSE_AVX2(name<T...>), \
      HWY_CHOOSE_AVX3(name<T...>), HWY_CHOOSE_AVX3(name<T...>)}

#define MEGA_DISPATCH_T(name, ...) \
  (*name##InstructionSets<__VA_ARGS__>[static_cast<size_t>(::mega::kernels::chosen_instruction_set())])
