#include "mega/data/batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "mega/base/random.h"
#include "mega/data/example_source.h"
#include "mega/text/tokens.h"
#include "tests/base/helpers.h"

namespace mega::data {
namespace {

using testing::contains;
using testing::error_of;
using Numbers = std::vector<int64_t>;
using Plan = std::vector<Numbers>;

Numbers various_lengths(size_t count, int64_t most = 100) {
  Numbers lengths;
  for (size_t i = 0; i < count; ++i)
    lengths.push_back(1 + static_cast<int64_t>(stream_seed(7, "length", i) % static_cast<uint64_t>(most)));
  return lengths;
}

// All examples of a plan, sorted.
Numbers examples_of(const Plan& plan) {
  Numbers all;
  for (const Numbers& batch : plan) all.insert(all.end(), batch.begin(), batch.end());
  std::sort(all.begin(), all.end());
  return all;
}

Numbers numbers_below(size_t count) {
  Numbers all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

int64_t longest(const Numbers& batch, const Numbers& lengths) {
  int64_t most = 0;
  for (const int64_t example : batch) most = std::max(most, lengths[static_cast<size_t>(example)]);
  return most;
}

int64_t padded_size(const Plan& plan, const Numbers& lengths) {
  int64_t sum = 0;
  for (const Numbers& batch : plan) sum += std::ssize(batch) * longest(batch, lengths);
  return sum;
}

TEST(Plan, EachExampleOnceAnEpoch) {
  const Numbers lengths = various_lengths(1000);
  for (const BatchUnit unit : {BatchUnit::examples, BatchUnit::tokens}) {
    for (const bool by_length : {false, true}) {
      for (const int64_t batch : {1, 7, 300, 100000}) {
        const BatchOptions options{batch, unit, by_length, 1};
        EXPECT_EQ(examples_of(plan_epoch(lengths, options, 1, 0)), numbers_below(1000));
        EXPECT_EQ(examples_of(plan_once(lengths, options)), numbers_below(1000));
      }
    }
  }
  EXPECT_TRUE(plan_epoch({}, {}, 1, 0).empty());
  EXPECT_TRUE(plan_once({}, {}).empty());
}

TEST(Plan, DependsOnSeedAndEpochAlone) {
  const Numbers lengths = various_lengths(200);
  for (const bool by_length : {false, true}) {
    const BatchOptions options{16, BatchUnit::examples, by_length, 1};
    const Plan plan = plan_epoch(lengths, options, 1, 3);
    EXPECT_EQ(plan_epoch(lengths, options, 1, 3), plan);
    EXPECT_NE(plan_epoch(lengths, options, 1, 4), plan);
    EXPECT_NE(plan_epoch(lengths, options, 2, 3), plan);
  }
}

// The order is part of what makes a run reproducible, on every platform.
TEST(Plan, TheOrderIsPinned) {
  const BatchOptions options{3, BatchUnit::examples, false, 1};
  EXPECT_EQ(plan_epoch(various_lengths(8), options, 1, 0), (Plan{{0, 5, 2}, {3, 1, 4}, {7, 6}}));
}

TEST(Plan, ExamplesFillBatches) {
  const Numbers lengths = various_lengths(1001);
  for (const bool by_length : {false, true}) {
    const Plan plan = plan_epoch(lengths, {10, BatchUnit::examples, by_length, 1}, 1, 0);
    EXPECT_EQ(plan.size(), 101U);
    EXPECT_EQ(std::count_if(plan.begin(), plan.end(), [](const Numbers& b) { return b.size() == 10; }), 100);
  }
}

TEST(Plan, TokensAreBoundedWithTheirPadding) {
  Numbers lengths = various_lengths(1000);
  lengths[17] = lengths[400] = 5000;  // longer than a batch: alone in one
  const BatchOptions shuffled{500, BatchUnit::tokens, false, 1}, sorted{500, BatchUnit::tokens, true, 1};
  for (const Plan& plan :
       {plan_epoch(lengths, shuffled, 1, 0), plan_epoch(lengths, sorted, 1, 0), plan_once(lengths, sorted)}) {
    for (const Numbers& batch : plan) {
      const int64_t size = std::ssize(batch) * longest(batch, lengths);
      EXPECT_TRUE(size <= 500 || batch.size() == 1) << size;
      EXPECT_FALSE(batch.empty());
    }
    EXPECT_EQ(std::count_if(plan.begin(), plan.end(),
                            [&](const Numbers& b) { return longest(b, lengths) == 5000; }),
              2);
  }
}

TEST(Plan, ByLengthPadsLittleAndStaysRandom) {
  const Numbers lengths = various_lengths(5000);
  const int64_t sum = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  const BatchOptions options{20, BatchUnit::examples, true, 1};
  const Plan plan = plan_epoch(lengths, options, 1, 0);
  EXPECT_LT(padded_size(plan, lengths), sum * 105 / 100);
  EXPECT_GT(padded_size(plan_epoch(lengths, {20, BatchUnit::examples, false, 1}, 1, 0), lengths),
            sum * 150 / 100);
  // Short and long batches come in any order.
  size_t ups = 0;
  for (size_t i = 1; i < plan.size(); ++i) ups += longest(plan[i], lengths) > longest(plan[i - 1], lengths);
  EXPECT_GT(ups, plan.size() / 3);
  EXPECT_LT(ups, plan.size() * 2 / 3);
}

TEST(Plan, EvaluationBeginsWithTheLongest) {
  const Numbers lengths = {3, 9, 1, 9, 5};
  EXPECT_EQ(plan_once(lengths, {2, BatchUnit::examples, true, 1}), (Plan{{1, 3}, {4, 0}, {2}}));
  EXPECT_EQ(plan_once(lengths, {18, BatchUnit::tokens, true, 1}), (Plan{{1, 3}, {4, 0, 2}}));
}

Encoder text_encoder() { return Encoder(Signature{}); }

Part text_part(size_t count, size_t longest_text = 30) {
  std::vector<Record> records(count);
  for (size_t i = 0; i < count; ++i) {
    records[i].bytes.assign(1 + stream_seed(3, "text", i) % longest_text, static_cast<char>('a' + i % 26));
    records[i].second = std::to_string(i);
  }
  Part part(std::move(records));
  for (size_t i = 0; i < count; ++i) part.labels.push_back(static_cast<int64_t>(i % 3));
  return part;
}

TEST(MakeBatch, PadsTexts) {
  std::vector<Record> records(3);
  records[0].bytes = "ab";
  records[1].bytes = "never asked for";
  records[2].bytes = "c";
  Part part(records);
  part.labels = {5, 6, 7};
  const Batch batch = make_batch(part, text_encoder(), Numbers{2, 0}, 1);
  EXPECT_EQ(batch.size(), 2);
  EXPECT_EQ(batch.targets.classes, (Numbers{7, 5}));
  EXPECT_TRUE(batch.targets.numbers.empty());
  ASSERT_EQ(batch.inputs.size(), 1U);
  const SequenceSet& document = batch.inputs[0];
  EXPECT_EQ(document.length, 3);
  EXPECT_EQ(document.lengths, (Numbers{2, 3}));
  EXPECT_EQ(document.tokens, (std::vector<int32_t>{4 + 'c', kEnd, kPad, 4 + 'a', 4 + 'b', kEnd}));
  EXPECT_TRUE(document.values.empty());
  EXPECT_EQ(batch.positions, 5);
}

TEST(MakeBatch, PadsSeriesAndKeepsTargetsTogether) {
  Signature signature;
  signature.input.input = SeriesInput{2, 0, Standardize::none};
  std::vector<Record> records(2);
  records[0].values = {1, 2, 3, 4};
  records[1].values = {5, 6};
  Part part(records);
  part.targets = {10, 11, 20, 21};
  const Batch batch = make_batch(part, Encoder(signature), Numbers{1, 0}, 1);
  EXPECT_EQ(batch.inputs[0].values, (std::vector<float>{5, 6, 0, 0, 1, 2, 3, 4}));
  EXPECT_EQ(batch.inputs[0].channels, 2);
  EXPECT_EQ(batch.inputs[0].length, 2);
  EXPECT_EQ(batch.targets.numbers, (std::vector<float>{20, 21, 10, 11}));
  EXPECT_TRUE(batch.targets.classes.empty());
  EXPECT_EQ(batch.positions, 3);
}

TEST(MakeBatch, PairsHaveTwoDocumentsOfTheirOwnLength) {
  std::vector<Record> records(1);
  records[0].bytes = "a";
  records[0].second = "bcd";
  Part part(records);
  const Batch batch = make_batch(part, text_encoder(), Numbers{0}, 2);
  ASSERT_EQ(batch.inputs.size(), 2U);
  EXPECT_EQ(batch.inputs[0].length, 2);
  EXPECT_EQ(batch.inputs[1].length, 4);
  EXPECT_EQ(batch.positions, 6);
  EXPECT_EQ(lengths_of(part, text_encoder(), 1), Numbers{2});
  EXPECT_EQ(lengths_of(part, text_encoder(), 2), Numbers{4});
}

TEST(Lengths, AreCountedOnceAndKept) {
  Part part = text_part(300);
  const Encoder encoder = text_encoder();
  const Numbers lengths = count_lengths(part, encoder, 2);
  for (int64_t i = 0; i < part.size(); ++i) {
    const Record record = part.get(i);
    EXPECT_EQ(lengths[static_cast<size_t>(i)],
              std::max(encoder.length(record, 0), encoder.length(record, 1)));
  }
  EXPECT_TRUE(part.lengths.empty());
  EXPECT_EQ(lengths_of(part, encoder, 2), lengths);
  measure(part, encoder, 2);
  EXPECT_EQ(part.lengths, lengths);
  part.lengths[7] = 12345;
  EXPECT_EQ(lengths_of(part, encoder, 2)[7], 12345) << "those that are kept";
  EXPECT_TRUE(count_lengths({}, encoder, 1).empty());
}

std::unique_ptr<BatchSource> examples(const Part& part, const Encoder& encoder, const BatchOptions& options,
                                      uint64_t seed) {
  return std::make_unique<ExampleSource>(part, encoder, options, seed);
}

TEST(BatchStream, GivesThePlanEpochAfterEpoch) {
  const Part part = text_part(50);
  const Encoder encoder = text_encoder();
  const BatchOptions options{8, BatchUnit::examples, true, 2};
  BatchStream stream(examples(part, encoder, options, 5));
  const Numbers lengths = lengths_of(part, encoder, 2);
  EXPECT_EQ(stream.batches_per_epoch(), 7);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    const Plan plan = plan_epoch(lengths, options, 5, epoch);
    for (size_t b = 0; b < plan.size(); ++b) {
      EXPECT_EQ(stream.cursor().epoch, epoch);
      EXPECT_EQ(stream.cursor().batch, static_cast<int64_t>(b));
      const Batch batch = stream.next();
      EXPECT_EQ(batch.examples, plan[b]);
      EXPECT_EQ(batch.inputs.at(1).tokens, make_batch(part, encoder, plan[b], 2).inputs[1].tokens);
    }
  }
  EXPECT_EQ(stream.cursor().epoch, 3);
  EXPECT_EQ(stream.cursor().batch, 0);
}

TEST(BatchStream, ContinuesFromItsCursor) {
  const Part part = text_part(60);
  const Encoder encoder = text_encoder();
  for (const bool by_length : {false, true}) {
    const BatchOptions options{64, BatchUnit::tokens, by_length, 1};
    std::vector<Numbers> whole;
    std::vector<Cursor> cursors;
    BatchStream stream(examples(part, encoder, options, 9));
    for (int i = 0; i < 90; ++i) {
      cursors.push_back(stream.cursor());
      whole.push_back(stream.next().examples);
    }
    EXPECT_GT(cursors.back().epoch, 1);
    for (size_t begin = 0; begin < whole.size(); begin += 7) {
      BatchStream resumed(examples(part, encoder, options, 9), cursors[begin]);
      // What counts epochs must not change when a run is resumed.
      EXPECT_EQ(resumed.batches_per_epoch(), stream.batches_per_epoch());
      for (size_t i = begin; i < whole.size(); ++i) ASSERT_EQ(resumed.next().examples, whole[i]) << i;
    }
  }
}

TEST(BatchStream, ACursorBeyondTheEpochGoesToTheNext) {
  const Part part = text_part(10);
  const Encoder encoder = text_encoder();
  const BatchOptions options{4, BatchUnit::examples, false, 1};
  BatchStream stream(examples(part, encoder, options, 1), {2, 1000});
  EXPECT_EQ(stream.next().examples, plan_epoch(lengths_of(part, encoder, 1), options, 1, 3)[0]);
}

TEST(BatchStream, NeedsExamples) {
  const Part part;
  const Encoder encoder = text_encoder();
  EXPECT_PRED2(contains, error_of([&] { BatchStream(examples(part, encoder, {}, 1)); }),
               "no training examples");
}

TEST(BatchStream, AnErrorOfTheThreadReachesWhoeverAsks) {
  Signature signature;
  signature.input.input = ImageInput{1, 2};
  const Encoder encoder(signature);
  std::vector<Record> records(3);
  records[0].bytes = records[2].bytes = "ab";
  records[1].bytes = "abc";  // not a picture of 1 by 2
  Part part(records);
  part.labels = {0, 0, 0};
  BatchStream stream(examples(part, encoder, {1, BatchUnit::examples, false, 1}, 1));
  std::optional<std::string> first;
  for (int i = 0; i < 3 && !first; ++i) {
    try {
      stream.next();
    } catch (const Error& error) {
      first = error.what();
    }
  }
  ASSERT_TRUE(first.has_value());
  EXPECT_PRED2(contains, *first, "3 pixels");
  EXPECT_EQ(error_of([&] { stream.next(); }), *first);  // does not wait for a thread that has ended
}

TEST(BatchStream, EndsWhileItsThreadWaits) {
  const Part part = text_part(100);
  const Encoder encoder = text_encoder();
  for (int taken = 0; taken < 20; ++taken) {
    BatchStream stream(examples(part, encoder, {1, BatchUnit::examples, true, 1}, 1));
    for (int i = 0; i < taken % 4; ++i) stream.next();
  }
}

}  // namespace
}  // namespace mega::data
