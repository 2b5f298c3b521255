#include "mega/base/system/blas_kernels.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace mega {
namespace {

constexpr const char* kVariable = "OPENBLAS_CORETYPE";

TEST(BlasKernels, LeavesAloneWhatTheUserSet) {
  ::setenv(kVariable, "Haswell", 1);
  choose_blas_kernels();
  EXPECT_STREQ(std::getenv(kVariable), "Haswell");
}

TEST(BlasKernels, AreOfAvx512OnlyWhereTheProcessorHasIt) {
  ::unsetenv(kVariable);
  choose_blas_kernels();
  const char* chosen = std::getenv(kVariable);
#if defined(__x86_64__)
  const bool suits = __builtin_cpu_supports("avx512bw");
#else
  const bool suits = false;
#endif
  EXPECT_EQ(chosen == nullptr ? "" : std::string(chosen), suits ? "SkylakeX" : "");
}

}  // namespace
}  // namespace mega
