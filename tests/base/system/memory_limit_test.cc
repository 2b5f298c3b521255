#include "mega/base/system/memory_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace mega {
namespace {

TEST(MemoryLimit, IsThatOfTheProcessWhereItHasOne) {
  const int64_t machine = memory_limit();
  EXPECT_GT(machine, 1 << 20);
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  struct rlimit own = before;
  own.rlim_cur = static_cast<rlim_t>(machine - 4096);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &own), 0);
  EXPECT_EQ(memory_limit(), machine - 4096);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(memory_limit(), machine);
}

}  // namespace
}  // namespace mega
