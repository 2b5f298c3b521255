#include "mega/data/corpus/block_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "mega/text/tokens.h"
#include "tests/base/helpers.h"
#include "tests/data/token_texts.h"

namespace mega::data {
namespace {

using testing::contains;
using testing::error_of;
using testing::ScratchFolder;
using Numbers = std::vector<int64_t>;
using Tokens = std::vector<int32_t>;

// Tokens that tell where they stand: 10, 11, ...; every `line` of them is </s>.
std::vector<int32_t> counting(int32_t count, int32_t line = 0) {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < count; ++i) tokens.push_back(line > 0 && i % line == line - 1 ? kEnd : 10 + i);
  return tokens;
}

BlockPlan exact_plan(bool carry = false) {
  BlockPlan plan;
  plan.cut = BlockCut::exact;
  plan.chunk = 4;
  plan.min_chunks = 1;
  plan.max_chunks = 3;
  plan.carry = carry;
  return plan;
}

Numbers row(const SequenceSet& document, size_t example) {
  const auto begin = document.tokens.begin() + static_cast<int64_t>(example) * document.length;
  return {begin, begin + document.lengths[example]};
}

TEST(BlockSource, ReadsOneTokenBehindWhatItPredicts) {
  const ScratchFolder folder;
  const TokenView text = write_tokens(folder / "a.tokens", {10, 11, 12, 13, 14});
  BlockSource source(text, {BlockCut::exact, 4, 1, 1, false}, {8, BatchUnit::examples, false, 2}, 1);
  const auto plan = source.plan(0);
  ASSERT_EQ(plan.size(), 1U);
  const Batch batch = source.make(Numbers{0, 1});
  ASSERT_EQ(batch.inputs.size(), 1U);
  EXPECT_EQ(batch.inputs[0].tokens, (Tokens{kEnd, 10, 11, 12, kEnd, kPad, kPad, kPad}));
  EXPECT_EQ(batch.targets.sequences.tokens, (Tokens{10, 11, 12, 13, 14, kPad, kPad, kPad}));
  for (const SequenceSet& document : {batch.inputs[0], batch.targets.sequences}) {
    EXPECT_EQ(document.length, 4);
    EXPECT_EQ(document.lengths, (Numbers{4, 1}));
  }
  EXPECT_EQ(batch.positions, 5);
  EXPECT_EQ(batch.examples, (Numbers{0, 1}));
  EXPECT_EQ(batch.names, (std::vector<std::string>{"text, token 0", "text, token 4"}));
  EXPECT_TRUE(batch.targets.classes.empty());
}

TEST(BlockSource, EachTokenIsPredictedOnceAnEpoch) {
  const ScratchFolder folder;
  const TokenView text = write_tokens(folder / "a.tokens", counting(900, 7));
  for (const bool carry : {false, true}) {
    for (const BlockCut cut : {BlockCut::lines, BlockCut::exact}) {
      for (const BatchUnit unit : {BatchUnit::examples, BatchUnit::tokens}) {
        BlockPlan plan = exact_plan(carry);
        plan.cut = cut;
        BlockSource source(text, plan, {unit == BatchUnit::tokens ? 50 : 3, unit, true, 2}, 1);
        for (int64_t epoch = 0; epoch < 2; ++epoch) {
          std::map<int64_t, int> seen;
          int64_t positions = 0;
          for (const Numbers& examples : source.plan(epoch)) {
            const Batch batch = source.make(examples);
            positions += batch.positions;
            if (unit == BatchUnit::tokens) {
              EXPECT_LE(std::ssize(batch.targets.sequences.tokens), 52);
            }
            for (size_t i = 0; i < examples.size(); ++i)
              for (const int64_t token : row(batch.targets.sequences, i)) ++seen[token];
          }
          EXPECT_EQ(positions, 900);
          EXPECT_EQ(seen[kEnd], 900 / 7);
          EXPECT_EQ(seen.count(kPad), 0U);
          for (const auto& [token, count] : seen) {
            EXPECT_TRUE(token == kEnd || count == 1) << token;
          }
        }
      }
    }
  }
}

TEST(BlockSource, CarriedStreamsAreContinuous) {
  const ScratchFolder folder;
  const TokenView text = write_tokens(folder / "a.tokens", counting(103));
  BlockSource source(text, exact_plan(true), {4, BatchUnit::examples, true, 2}, 1);
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    std::vector<Numbers> read(4), predicted(4);
    int64_t next = 0;
    for (const Numbers& examples : source.plan(epoch)) {
      const Batch batch = source.make(examples);
      ASSERT_EQ(batch.size(), 4);
      for (size_t stream = 0; stream < 4; ++stream) {
        EXPECT_EQ(batch.examples[stream], next++);
        for (const int64_t token : row(batch.inputs[0], stream)) read[stream].push_back(token);
        for (const int64_t token : row(batch.targets.sequences, stream)) predicted[stream].push_back(token);
      }
    }
    int64_t first = 10;
    for (size_t stream = 0; stream < 4; ++stream) {
      Numbers expected(stream < 3 ? 26 : 25);
      for (int64_t& token : expected) token = first++;
      EXPECT_EQ(predicted[stream], expected);
      expected.pop_back();
      expected.insert(expected.begin(), kEnd);
      EXPECT_EQ(read[stream], expected);
    }
  }
}

TEST(BlockSource, AStreamResumedAtItsCursorGivesTheSameBatches) {
  const ScratchFolder folder;
  const TokenView text = write_tokens(folder / "a.tokens", counting(400, 9));
  for (const bool carry : {false, true}) {
    const auto source = [&] {
      return std::make_unique<BlockSource>(text, exact_plan(carry),
                                           BatchOptions{5, BatchUnit::examples, true, 2}, 3);
    };
    BatchStream stream(source());
    std::vector<Cursor> cursors;
    std::vector<Batch> batches;
    for (int i = 0; i < 40; ++i) {
      cursors.push_back(stream.cursor());
      batches.push_back(stream.next());
    }
    EXPECT_GT(cursors.back().epoch, 1);
    for (size_t begin = 0; begin < batches.size(); begin += 6) {
      BatchStream resumed(source(), cursors[begin]);
      EXPECT_EQ(resumed.batches_per_epoch(), stream.batches_per_epoch());
      for (size_t i = begin; i < batches.size(); ++i) {
        const Batch batch = resumed.next();
        ASSERT_EQ(batch.inputs[0].tokens, batches[i].inputs[0].tokens) << i;
        ASSERT_EQ(batch.targets.sequences.tokens, batches[i].targets.sequences.tokens) << i;
        ASSERT_EQ(batch.names, batches[i].names);
      }
    }
  }
}

TEST(BlockSource, BlocksOfSimilarLengthGoTogether) {
  const ScratchFolder folder;
  const TokenView text = write_tokens(folder / "a.tokens", std::vector<int32_t>(4000, 5));
  BlockSource source(text, exact_plan(), {10, BatchUnit::examples, true, 2}, 1);
  int64_t padded = 0;
  for (const Numbers& examples : source.plan(0))
    padded += std::ssize(source.make(examples).targets.sequences.tokens);
  EXPECT_LT(padded, 4100);
}

TEST(BlockSource, AnEmptyTextHasNoBatches) {
  for (const bool carry : {false, true}) {
    auto source = std::make_unique<BlockSource>(TokenView(), exact_plan(carry), BatchOptions{}, 1);
    EXPECT_PRED2(contains, error_of([&] { BatchStream(std::move(source)); }), "no training examples");
  }
}

TEST(BlockSource, DamagedTokensReachWhoeverAsks) {
  const ScratchFolder folder;
  write_tokens(folder / "a.tokens", counting(3), 20);
  std::string bytes = read_file(folder / "a.tokens");
  bytes[16] = 99;
  write_file(folder / "a.tokens", bytes);
  TokenView text;
  text.file = std::make_shared<const TokenFile>(TokenFile::open(folder / "a.tokens"));
  text.end = 3;
  BatchStream stream(std::make_unique<BlockSource>(text, exact_plan(), BatchOptions{}, 1));
  EXPECT_PRED2(contains, error_of([&] { stream.next(); }), "token 99 of a vocabulary of 20");
}

}  // namespace
}  // namespace mega::data
