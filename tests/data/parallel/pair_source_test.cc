#include "mega/data/parallel/pair_source.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "mega/text/tokens.h"
#include "tests/data/parallel/pair_files.h"
#include "tests/data/token_texts.h"

namespace mega::data {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;
using Numbers = std::vector<int64_t>;
using Tokens = std::vector<int32_t>;

// A part whose pairs have these lengths, with </s>. Tokens say pair and place.
PairPart make_part(const ScratchFolder& folder, const std::vector<std::pair<int64_t, int64_t>>& lengths) {
  Tokens source, target;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const auto add = [&](Tokens& side, int64_t length, int32_t first) {
      for (int64_t k = 0; k + 1 < length; ++k)
        side.push_back(first + static_cast<int32_t>((i + static_cast<size_t>(k)) % 40));
      side.push_back(kEnd);
    };
    add(source, lengths[i].first, 10);
    add(target, lengths[i].second, 60);
  }
  PairPart part;
  part.text.name = "train";
  part.source = TokenLines(write_tokens(folder / "source", source));
  part.target = TokenLines(write_tokens(folder / "target", target));
  return part;
}

PairPart many(const ScratchFolder& folder, int64_t count) {
  std::vector<std::pair<int64_t, int64_t>> lengths;
  for (int64_t i = 0; i < count; ++i) lengths.emplace_back(1 + (i * 7919) % 30, 1 + (i * 7919 + i % 5) % 33);
  return make_part(folder, lengths);
}

TEST(PairSource, ABatch) {
  const ScratchFolder folder;
  const PairPart part = make_part(folder, {{3, 2}, {1, 4}, {2, 1}});
  const Batch batch = make_pair_batch(part, Numbers{1, 0, 2});
  ASSERT_EQ(batch.inputs.size(), 2U);
  EXPECT_EQ(batch.inputs[0].tokens, (Tokens{kEnd, kPad, kPad, 10, 11, kEnd, 12, kEnd, kPad}));
  EXPECT_EQ(batch.inputs[0].lengths, (Numbers{1, 3, 2}));
  EXPECT_EQ(batch.targets.sequences.tokens,
            (Tokens{61, 62, 63, kEnd, 60, kEnd, kPad, kPad, kEnd, kPad, kPad, kPad}));
  EXPECT_EQ(batch.inputs[1].tokens, (Tokens{kEnd, 61, 62, 63, kEnd, 60, kPad, kPad, kEnd, kPad, kPad, kPad}));
  EXPECT_EQ(batch.inputs[1].lengths, batch.targets.sequences.lengths);
  EXPECT_EQ(batch.targets.sequences.lengths, (Numbers{4, 2, 1}));
  EXPECT_EQ(batch.positions, 6 + 7);
  EXPECT_EQ(batch.names[0], "train, pair 2");
  EXPECT_EQ(batch.examples, (Numbers{1, 0, 2}));
  EXPECT_EQ(pair_lengths(part), (Numbers{3, 4, 2}));
}

TEST(PairSource, TokensOfTheLongerSideWithPadding) {
  const ScratchFolder folder;
  const PairPart part = many(folder, 3000);
  const BatchOptions options{256, BatchUnit::tokens};
  PairSource source(part, options, 1);
  const auto plan = source.plan(0);
  std::set<int64_t> seen;
  int64_t padded = 0, real = 0;
  for (const Numbers& numbers : plan) {
    const Batch batch = source.make(numbers);
    const int64_t longest = std::max(batch.inputs[0].length, batch.inputs[1].length);
    EXPECT_LE(longest * batch.size(), 256);
    padded += longest * batch.size();
    for (const int64_t pair : numbers) EXPECT_TRUE(seen.insert(pair).second);
    for (size_t i = 0; i < numbers.size(); ++i)
      real += std::max(batch.inputs[0].lengths[i], batch.inputs[1].lengths[i]);
  }
  EXPECT_EQ(seen.size(), 3000U);
  EXPECT_LT(static_cast<double>(padded), 1.1 * static_cast<double>(real));
  // A pair that is longer than a batch is one by itself.
  PairSource small(part, {8, BatchUnit::tokens}, 1);
  for (const Numbers& numbers : small.plan(0))
    if (numbers.size() > 1) {
      const Batch batch = small.make(numbers);
      EXPECT_LE(std::max(batch.inputs[0].length, batch.inputs[1].length) * batch.size(), 8);
    }
}

TEST(PairSource, ExamplesInABatch) {
  const ScratchFolder folder;
  const PairPart part = many(folder, 100);
  PairSource source(part, {16, BatchUnit::examples}, 1);
  const auto plan = source.plan(0);
  EXPECT_EQ(plan.size(), 7U);
}

TEST(PairSource, OrderIsOfSeedAndEpoch) {
  const ScratchFolder folder;
  const PairPart part = many(folder, 500);
  const BatchOptions options{200, BatchUnit::tokens};
  PairSource one(part, options, 1), same(part, options, 1), other(part, options, 2);
  const auto first = one.plan(0);
  EXPECT_EQ(first, same.plan(0));
  EXPECT_NE(first, one.plan(1));
  EXPECT_NE(first, other.plan(0));
  EXPECT_EQ(first, one.plan(0));
}

TEST(PairSource, AResumedStreamGoesOnInTheMiddleOfAnEpoch) {
  const ScratchFolder folder;
  const PairPart part = many(folder, 300);
  const BatchOptions options{100, BatchUnit::tokens};
  BatchStream whole(std::make_unique<PairSource>(part, options, 3));
  const int64_t epoch = whole.batches_per_epoch();
  ASSERT_GT(epoch, 20);
  Cursor middle;
  std::vector<Tokens> expected;
  for (int64_t i = 0; i < epoch + 10; ++i) {
    const Batch batch = whole.next();
    if (i == epoch / 2) middle = whole.cursor();
    if (i > epoch / 2) expected.push_back(batch.targets.sequences.tokens);
  }
  EXPECT_EQ(middle.epoch, 0);
  BatchStream resumed(std::make_unique<PairSource>(part, options, 3), middle);
  for (const Tokens& tokens : expected) EXPECT_EQ(resumed.next().targets.sequences.tokens, tokens);
}

TEST(PairSource, AnEvaluationHasEachPairOnceTheLongestFirst) {
  const ScratchFolder folder;
  const PairPart part = many(folder, 200);
  const auto plan = plan_pairs_once(part, {64, BatchUnit::tokens});
  const Numbers lengths = pair_lengths(part);
  Numbers order;
  for (const Numbers& batch : plan) order.insert(order.end(), batch.begin(), batch.end());
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return lengths[static_cast<size_t>(a)] > lengths[static_cast<size_t>(b)];
  }));
  std::sort(order.begin(), order.end());
  Numbers all(200);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(order, all);
}

TEST(TokenLines, EveryLineByItsNumber) {
  const ScratchFolder folder;
  Tokens tokens;
  std::vector<Block> expected;
  for (int64_t i = 0; i < 1000; ++i) {
    const auto begin = std::ssize(tokens);
    for (int64_t k = 0; k < (i * 31) % 17; ++k) tokens.push_back(static_cast<int32_t>(10 + k));
    tokens.push_back(kEnd);
    expected.push_back({begin, std::ssize(tokens)});
  }
  const TokenLines lines(write_tokens(folder / "tokens", tokens));
  ASSERT_EQ(lines.size(), 1000);
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(lines.line(i), expected[static_cast<size_t>(i)]);
  size_t next = 0;
  lines.for_each_length([&](int64_t length) { EXPECT_EQ(length, expected[next++].size()); });
  EXPECT_PRED2(contains, error_of([&] { lines.line(1000); }), "line 1000 of 1000");
  EXPECT_PRED2(contains, error_of([&] { lines.line(-1); }), "line -1");
  EXPECT_EQ(TokenLines().size(), 0);
  tokens.push_back(10);
  EXPECT_PRED2(contains, error_of([&] { TokenLines(write_tokens(folder / "open", tokens)); }), "has no end");
}

}  // namespace
}  // namespace mega::data
