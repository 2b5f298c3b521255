// The instruction sets that kernels are compiled for; include before any Highway header. Each one costs build
// time, so x86 has three besides the baseline. Run-time dispatch is our own (dispatch.h), so only Highway's
// headers are needed.
#pragma once

// Highway's assertions would need its library.
#define HWY_IS_DEBUG_BUILD 0

#if !defined(__x86_64__) && !defined(__i386__)
// NEON is in the ARM baseline; Highway's other ARM targets add only instructions that we do not use.
#define HWY_COMPILE_ONLY_STATIC
#endif

#include <hwy/detect_targets.h>

#if HWY_ARCH_X86
#ifndef HWY_AVX3_ZEN4
#define HWY_AVX3_ZEN4 0
#endif
#ifndef HWY_AVX3_SPR
#define HWY_AVX3_SPR 0
#endif
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_AVX3_ZEN4 | HWY_AVX3_SPR)
#elif HWY_ARCH_ARM
// Our tiles are arrays of vectors, which SVE's sizeless types do not allow.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
