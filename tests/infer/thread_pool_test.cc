// Every item is processed once: with several callers, nested calls, exceptions, and sleep in between.
#include "mega/infer/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "mega/base/error.h"

namespace mega::infer {
namespace {

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

// The ranges of a run, in order.
Ranges ranges_of(ThreadPool& pool, int64_t items, int64_t grain) {
  std::mutex mutex;
  Ranges ranges;
  pool.run(items, grain, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    ranges.emplace_back(begin, end);
  });
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

TEST(ThreadPool, CoversEveryItemOnceInWholeGrains) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int64_t items : {1, 2, 7, 8, 9, 64, 1000}) {
      for (const int64_t grain : {-1, 0, 1, 3, 8, 999, 1000, 5000}) {
        SCOPED_TRACE(testing::Message() << threads << " threads, " << items << " items by " << grain);
        int64_t expected = 0;
        for (const auto& [begin, end] : ranges_of(pool, items, grain)) {
          ASSERT_EQ(begin, expected);
          ASSERT_GT(end, begin);
          if (end != items) {
            ASSERT_EQ((end - begin) % std::max<int64_t>(grain, 1), 0);
          }
          expected = end;
        }
        EXPECT_EQ(expected, items);
      }
    }
  }
}

// Each range is a quarter of the rest: 600 of 800 are left, then 450, 338, ...
TEST(ThreadPool, RangesGetShorterTowardsTheEnd) {
  ThreadPool pool(2);
  const auto ranges = ranges_of(pool, 800, 1);
  ASSERT_GE(ranges.size(), 8u);
  EXPECT_EQ(ranges.front(), std::pair(int64_t{0}, int64_t{200}));
  EXPECT_EQ(ranges.back(), std::pair(int64_t{799}, int64_t{800}));
  EXPECT_EQ(ranges_of(pool, 800, 400).size(), 2u);
  EXPECT_EQ(ranges_of(pool, 800, 800).size(), 1u);
}

TEST(ThreadPool, NoItems) {
  ThreadPool pool(2);
  EXPECT_TRUE(ranges_of(pool, 0, 1).empty());
  EXPECT_TRUE(ranges_of(pool, -5, 1).empty());
}

TEST(ThreadPool, SmallWorkStaysWithTheCaller) {
  ThreadPool pool(4), alone(1);
  const auto check = [](ThreadPool& used, int64_t items, int64_t grain) {
    const auto caller = std::this_thread::get_id();
    used.run(items, grain, [&](int64_t, int64_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
  };
  check(pool, 10, 10);
  check(alone, 1000, 1);
}

// Tasks that wait for each other finish only if all threads take part.
TEST(ThreadPool, AllThreadsTakePart) {
  constexpr int kThreads = 3;
  ThreadPool pool(kThreads);
  std::atomic<int> arrived{0};
  std::mutex mutex;
  std::set<std::thread::id> ids;
  pool.run(kThreads, 1, [&](int64_t, int64_t) {
    ++arrived;
    while (arrived.load() < kThreads) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), static_cast<size_t>(kThreads));
}

TEST(ThreadPool, RunsFollowEachOther) {
  ThreadPool pool(4);
  std::vector<int64_t> sums(16, 0);  // not atomic: a run must see the writes of the previous one
  for (int round = 0; round < 3000; ++round)
    pool.run(16, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) sums[static_cast<size_t>(i)] += i;
    });
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(sums[static_cast<size_t>(i)], 3000 * i);
}

TEST(ThreadPool, WakesUpAgain) {
  ThreadPool pool(2);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 3));
    std::atomic<int> arrived{0};
    pool.run(2, 1, [&](int64_t, int64_t) {
      ++arrived;
      while (arrived.load() < 2) std::this_thread::yield();
    });
  }
}

TEST(ThreadPool, IdlePoolUsesNoCpuTime) {
  ThreadPool pool(4);
  ranges_of(pool, 100, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until all are asleep
  const std::clock_t start = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 0.05);
}

TEST(ThreadPool, ConcurrentCallers) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 300; ++round)
        pool.run(20, 1, [&](int64_t begin, int64_t end) { total += end - begin; });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 4 * 300 * 20);
}

TEST(ThreadPool, NestedCallsDoNotDeadlock) {
  ThreadPool pool(3);
  std::atomic<int64_t> total{0};
  pool.run(30, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      pool.run(10, 1, [&](int64_t inner_begin, int64_t inner_end) { total += inner_end - inner_begin; });
  });
  EXPECT_EQ(total.load(), 300);
}

TEST(ThreadPool, RethrowsExceptions) {
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 50; ++round) {
      std::atomic<int> inside{0};
      const auto body = [&](int64_t begin, int64_t end) {
        ++inside;
        if (begin <= 60 && 60 < end) {
          --inside;
          fail("item 60 is bad");
        }
        --inside;
      };
      try {
        pool.run(100, 1, body);
        FAIL() << "no exception";
      } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "item 60 is bad");
      }
      EXPECT_EQ(inside.load(), 0);  // all have stopped
      ASSERT_EQ(ranges_of(pool, 100, 200), (Ranges{{0, 100}}));
      int64_t done = 0;
      for (const auto& [begin, end] : ranges_of(pool, 100, 1)) done += end - begin;
      ASSERT_EQ(done, 100);  // the pool is still usable
    }
  }
}

TEST(ThreadPool, EveryBodyMayThrow) {
  ThreadPool pool(4);
  for (int round = 0; round < 50; ++round)
    EXPECT_THROW(pool.run(100, 1, [](int64_t begin, int64_t) { fail("bad: ", begin); }), Error);
}

TEST(ThreadPool, NumberOfThreads) {
  EXPECT_GE(ThreadPool().threads(), 1);
  EXPECT_THROW(ThreadPool(-1), Error);
  EXPECT_THROW(ThreadPool(1 << 20), Error);
}

}  // namespace
}  // namespace mega::infer
