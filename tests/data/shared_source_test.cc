#include "mega/data/shared_source.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mega::data {
namespace {

// Examples are their own numbers; with `mixing`, each has the number of the last one of its batch, too.
class Numbers : public BatchSource {
 public:
  explicit Numbers(bool mixing) : mixing_(mixing) {}
  std::vector<std::vector<int64_t>> plan(int64_t) override { return {{4, 2, 7, 1, 5}, {3}}; }
  Batch make(std::span<const int64_t> examples) override {
    Batch batch;
    SequenceSet set;
    set.length = 2;
    for (const int64_t example : examples) {
      batch.examples.push_back(example);
      batch.names.push_back(std::to_string(example));
      batch.targets.classes.push_back(example);
      set.lengths.push_back(1);
      set.tokens.push_back(static_cast<int32_t>(example));
      set.tokens.push_back(static_cast<int32_t>(mixing_ ? examples.back() : 0));
    }
    batch.inputs.push_back(set);
    batch.positions = std::ssize(examples);
    return batch;
  }
  bool mixes() const override { return mixing_; }

 private:
  bool mixing_;
};

TEST(SharedSource, SharesAreTheBatch) {
  for (const bool mixing : {false, true}) {
    std::vector<int64_t> seen;
    for (int64_t part = 0; part < 3; ++part) {
      SharedSource source(std::make_unique<Numbers>(mixing), part, 3);
      const auto plan = source.plan(0);
      const Batch batch = source.make(plan[0]);
      EXPECT_FALSE(batch.stand_in);
      EXPECT_EQ(batch.size(), part < 2 ? 2 : 1);
      EXPECT_EQ(batch.positions, batch.size());
      for (int64_t row = 0; row < batch.size(); ++row) {
        const auto i = static_cast<size_t>(row);
        EXPECT_EQ(batch.examples[i], plan[0][static_cast<size_t>(part + 3 * row)]);
        EXPECT_EQ(batch.targets.classes[i], batch.examples[i]);
        EXPECT_EQ(batch.inputs[0].tokens[2 * i], batch.examples[i]);
        EXPECT_EQ(batch.inputs[0].tokens[2 * i + 1], mixing ? 5 : 0);
        seen.push_back(batch.examples[i]);
      }
      const Batch last = source.make(plan[1]);
      EXPECT_EQ(last.stand_in, part > 0);
      EXPECT_EQ(last.examples, std::vector<int64_t>{3});
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, (std::vector<int64_t>{1, 2, 4, 5, 7}));
  }
}

TEST(SharedSource, Pads) {
  SequenceSet set;
  set.length = 2;
  set.lengths = {2, 1};
  set.tokens = {5, 6, 7, 1};
  pad_to(set, 3);
  EXPECT_EQ(set.tokens, (std::vector<int32_t>{5, 6, 1, 7, 1, 1}));
  EXPECT_EQ(set.length, 3);
  pad_to(set, 2);
  EXPECT_EQ(set.length, 3);
  SequenceSet values;
  values.length = 1;
  values.channels = 2;
  values.lengths = {1, 1};
  values.values = {1, 2, 3, 4};
  pad_to(values, 2);
  EXPECT_EQ(values.values, (std::vector<float>{1, 2, 0, 0, 3, 4, 0, 0}));
}

}  // namespace
}  // namespace mega::data
