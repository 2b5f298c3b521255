#include "mega/data/corpus/blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "mega/base/random.h"
#include "mega/text/tokens.h"
#include "tests/base/helpers.h"
#include "tests/data/token_texts.h"

namespace mega::data {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;

// Lines of various lengths, each with its </s>.
std::vector<int32_t> lines_of(const std::vector<size_t>& lengths) {
  std::vector<int32_t> tokens;
  for (const size_t length : lengths) {
    tokens.insert(tokens.end(), length - 1, 5);
    tokens.push_back(kEnd);
  }
  return tokens;
}

std::vector<int32_t> various_lines(size_t count, size_t longest) {
  std::vector<size_t> lengths;
  for (size_t i = 0; i < count; ++i) lengths.push_back(1 + stream_seed(3, "line", i) % longest);
  return lines_of(lengths);
}

BlockPlan plan_of(BlockCut cut, int64_t chunk, int64_t least, int64_t most) {
  BlockPlan plan;
  plan.cut = cut;
  plan.chunk = chunk;
  plan.min_chunks = least;
  plan.max_chunks = most;
  return plan;
}

void expect_each_token_once(const std::vector<Block>& blocks, const TokenView& text) {
  int64_t at = text.begin;
  for (const Block& block : blocks) {
    EXPECT_EQ(block.begin, at);
    EXPECT_GT(block.end, block.begin);
    at = block.end;
  }
  EXPECT_EQ(at, text.end);
}

int32_t last_token(const TokenView& text, const Block& block) {
  int32_t token = 0;
  text.file->copy(block.end - 1, 1, &token);
  return token;
}

TEST(Blocks, ExactOnesAreOfWholeChunks) {
  const ScratchFolder folder;
  const TokenView text = write_tokens(folder / "a.tokens", various_lines(2000, 20));
  const std::vector<Block> blocks = plan_blocks(text, plan_of(BlockCut::exact, 16, 2, 4), 1, 0);
  expect_each_token_once(blocks, text);
  std::set<int64_t> sizes;
  for (size_t i = 0; i + 1 < blocks.size(); ++i) sizes.insert(blocks[i].size());
  EXPECT_EQ(sizes, (std::set<int64_t>{32, 48, 64}));
  EXPECT_LE(blocks.back().size(), 64);
}

TEST(Blocks, LinesStayWhole) {
  const ScratchFolder folder;
  const TokenView text = write_tokens(folder / "a.tokens", various_lines(2000, 60));
  const std::vector<Block> blocks = plan_blocks(text, plan_of(BlockCut::lines, 16, 2, 4), 1, 0);
  expect_each_token_once(blocks, text);
  for (const Block& block : blocks) {
    EXPECT_EQ(last_token(text, block), kEnd);
    EXPECT_LE(block.size(), 64);
  }
}

TEST(Blocks, LinesArePackedAsFarAsTheyFit) {
  const ScratchFolder folder;
  const BlockPlan plan = plan_of(BlockCut::lines, 5, 2, 2);
  const auto blocks_of = [&](const std::vector<size_t>& lengths) {
    const TokenView text = write_tokens(folder / "a.tokens", lines_of(lengths));
    return plan_blocks(text, plan, 1, 0);
  };
  EXPECT_EQ(blocks_of({4, 6, 1}), (std::vector<Block>{{0, 10}, {10, 11}}));
  EXPECT_EQ(blocks_of({4, 7}), (std::vector<Block>{{0, 4}, {4, 11}}));
  EXPECT_EQ(blocks_of({1, 1, 1}), (std::vector<Block>{{0, 3}}));
  // A line of 23 in pieces of at most 10; its rest goes on with the next line.
  EXPECT_EQ(blocks_of({2, 23, 5}), (std::vector<Block>{{0, 2}, {2, 12}, {12, 22}, {22, 30}}));
}

TEST(Blocks, ALineLongerThanTheDrawnSizeIsABlockOfItsOwn) {
  const ScratchFolder folder;
  const TokenView text = write_tokens(folder / "a.tokens", lines_of(std::vector<size_t>(100, 40)));
  for (const Block& block : plan_blocks(text, plan_of(BlockCut::lines, 10, 1, 4), 1, 0))
    EXPECT_EQ(block.size(), 40);
}

TEST(Blocks, DependOnSeedAndEpochAlone) {
  const ScratchFolder folder;
  const TokenView text = write_tokens(folder / "a.tokens", various_lines(500, 20));
  for (const BlockCut cut : {BlockCut::lines, BlockCut::exact}) {
    const BlockPlan plan = plan_of(cut, 16, 2, 4);
    const std::vector<Block> blocks = plan_blocks(text, plan, 1, 0);
    EXPECT_EQ(plan_blocks(text, plan, 1, 0), blocks);
    EXPECT_NE(plan_blocks(text, plan, 1, 1), blocks);
    EXPECT_NE(plan_blocks(text, plan, 2, 0), blocks);
  }
}

// The sizes are part of what makes a run reproducible, on every platform.
TEST(Blocks, SizesArePinned) {
  const ScratchFolder folder;
  const TokenView text = write_tokens(folder / "a.tokens", std::vector<int32_t>(20, 5));
  std::vector<int64_t> sizes;
  for (const Block& block : plan_blocks(text, plan_of(BlockCut::exact, 1, 2, 4), 1, 0))
    sizes.push_back(block.size());
  EXPECT_EQ(sizes, (std::vector<int64_t>{4, 2, 3, 2, 3, 2, 2, 2}));
}

TEST(Blocks, ShortAndEmptyTexts) {
  const ScratchFolder folder;
  const TokenView text = write_tokens(folder / "a.tokens", {5, 6, 7}),
                  empty = write_tokens(folder / "b.tokens", {});
  for (const BlockCut cut : {BlockCut::lines, BlockCut::exact}) {
    const BlockPlan plan = plan_of(cut, 16, 2, 4);
    EXPECT_EQ(plan_blocks(text, plan, 1, 0), (std::vector<Block>{{0, 3}}));
    EXPECT_TRUE(plan_blocks(empty, plan, 1, 0).empty());
    EXPECT_TRUE(plan_blocks(TokenView(), plan, 1, 0).empty());
  }
  EXPECT_TRUE(plan_carry(TokenView(), plan_of(BlockCut::exact, 16, 2, 4), 3, 1, 0).segments.empty());
}

TEST(Blocks, OnlyOfTheView) {
  const ScratchFolder folder;
  TokenView text = write_tokens(folder / "a.tokens", various_lines(500, 20));
  text.begin = 101;
  text.end = 1003;
  for (const BlockCut cut : {BlockCut::lines, BlockCut::exact})
    expect_each_token_once(plan_blocks(text, plan_of(cut, 16, 2, 4), 1, 0), text);
}

TEST(Blocks, ImpossiblePlansAreErrors) {
  const TokenView text;
  EXPECT_PRED2(contains, error_of([&] { plan_blocks(text, plan_of(BlockCut::exact, 0, 2, 4), 1, 0); }),
               "chunk = 0");
  EXPECT_PRED2(contains, error_of([&] { plan_blocks(text, plan_of(BlockCut::exact, 8, 4, 2), 1, 0); }),
               "min_chunks");
  EXPECT_PRED2(contains, error_of([&] { plan_carry(text, plan_of(BlockCut::exact, 8, 1, 2), 0, 1, 0); }),
               "streams");
}

TEST(Carry, StreamsGoOnWhereTheyWere) {
  const ScratchFolder folder;
  for (const size_t size : {1U, 7U, 64U, 1000U, 1001U, 1003U, 1027U}) {
    const TokenView text = write_tokens(folder / "a.tokens", std::vector<int32_t>(size, 5));
    for (const int64_t streams : {1, 4, 8}) {
      const CarryPlan carry = plan_carry(text, plan_of(BlockCut::exact, 4, 1, 3), streams, 1, 2);
      EXPECT_EQ(carry.streams, std::min<int64_t>(streams, static_cast<int64_t>(size)));
      const auto wide = static_cast<size_t>(carry.streams);
      ASSERT_EQ(carry.segments.size() % wide, 0U);
      const size_t updates = carry.segments.size() / wide;
      int64_t covered = 0;
      for (size_t stream = 0; stream < wide; ++stream) {
        for (size_t update = 0; update < updates; ++update) {
          const Block& segment = carry.segments[update * wide + stream];
          EXPECT_EQ(segment.begin, covered);  // each stream begins where the one before it ends
          covered = segment.end;
          EXPECT_GT(segment.size(), 0);
          if (update + 1 < updates) {
            EXPECT_EQ(segment.size() % 4, 0);
            EXPECT_EQ(segment.size(), carry.segments[update * wide].size());
          }
        }
      }
      EXPECT_EQ(covered, text.end);
    }
  }
}

TEST(Carry, SizesAreDrawnPerUpdateAndEpoch) {
  const ScratchFolder folder;
  const TokenView text = write_tokens(folder / "a.tokens", std::vector<int32_t>(1000, 5));
  const BlockPlan plan = plan_of(BlockCut::exact, 4, 1, 3);
  const std::vector<Block> segments = plan_carry(text, plan, 4, 1, 0).segments;
  EXPECT_EQ(plan_carry(text, plan, 4, 1, 0).segments, segments);
  EXPECT_NE(plan_carry(text, plan, 4, 1, 1).segments, segments);
  std::set<int64_t> sizes;
  for (size_t i = 0; i + 4 < segments.size(); ++i) sizes.insert(segments[i].size());
  EXPECT_EQ(sizes, (std::set<int64_t>{4, 8, 12}));
}

}  // namespace
}  // namespace mega::data
