#include "mega/data/in_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "tests/base/helpers.h"

namespace mega::data {
namespace {

using testing::error_of;

TEST(InOrder, UsesEachResultOnceInOrder) {
  for (const int64_t count : {0, 1, 2, 5000}) {
    std::vector<int64_t> seen;
    in_order(
        count, [](int64_t i) { return i * i; }, [](int64_t) { return 1; },
        [&](int64_t i, int64_t square) {
          EXPECT_EQ(square, i * i);
          seen.push_back(i);
        });
    ASSERT_EQ(std::ssize(seen), count);
    for (int64_t i = 0; i < count; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
  }
}

TEST(InOrder, ResultsThatWaitAreBounded) {
  std::atomic<int64_t> made = 0;
  int64_t most = 0, used = 0;
  in_order(
      200, [&](int64_t i) { return ++made, i; }, [](int64_t) { return int64_t{64} << 20; },
      [&](int64_t, int64_t) { most = std::max(most, made - ++used); });
  EXPECT_LE(most, 40) << "one of each thread, and one that waits";
}

TEST(InOrder, AnErrorComesWhenItsTurnDoes) {
  std::atomic<int64_t> used = 0;
  EXPECT_EQ(error_of([&] {
              in_order(
                  100,
                  [](int64_t i) {
                    if (i >= 30) fail("item ", i);
                    return i;
                  },
                  [](int64_t) { return 0; }, [&](int64_t, int64_t) { ++used; });
            }),
            "item 30");
  EXPECT_EQ(used, 30);
  EXPECT_EQ(error_of([&] {
              in_order(
                  100, [](int64_t i) { return i; }, [](int64_t) { return 0; },
                  [&](int64_t i, int64_t) {
                    if (i == 7) fail("no more");
                  });
            }),
            "no more");
}

}  // namespace
}  // namespace mega::data
