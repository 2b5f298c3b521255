// Include before any Highway header: the instruction sets a kernel is compiled for. Each one costs build
// time, so on x86 there are three beside the baseline. The choice among them at run time is ours
// (dispatch.h): of Highway the headers are enough.
#pragma once

// Highway's own assertions would need its library.
#define HWY_IS_DEBUG_BUILD 0

#if !defined(__x86_64__) && !defined(__i386__)
// ARM's NEON is in the baseline; the variants that Highway could tell apart differ in instructions that we do
// not use.
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
// Our tiles are arrays of vectors, which the sizeless types of SVE cannot form.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
