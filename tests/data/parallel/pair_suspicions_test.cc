#include "mega/data/parallel/pair_suspicions.h"

#include <algorithm>

#include "tests/data/parallel/pair_files.h"

namespace mega::data {
namespace {

using testing::contains;

class PairSuspicionsTest : public PairFilesTest {
 protected:
  // What is said of a text of these pairs.
  std::string found(const std::vector<Pair>& pairs, double share = 0.2) {
    std::string source, target;
    for (const Pair& pair : pairs) {
      source += pair.source + "\n";
      target += pair.target + "\n";
    }
    put("text.en", source);
    put("text.de", target);
    ParallelRequest request;
    request.data = data("text");
    request.data.valid_share = request.data.test_share = share;
    request.input = translation(TextUnits::words, "en", "de");
    std::string all;
    for (const std::string& line : find_suspicions(load_parallel(request))) all += line + "\n";
    return all;
  }

  static std::vector<Pair> good() {
    std::vector<Pair> pairs;
    for (int i = 0; i < 400; ++i) {
      const std::string number = std::to_string(i % 20), other = std::to_string(i % 19);
      pairs.push_back({"the words " + number + " and " + other, "die worte " + number + " und " + other});
    }
    return pairs;
  }
};

TEST_F(PairSuspicionsTest, NothingIsSaidOfAGoodText) { EXPECT_EQ(found(good()), ""); }

TEST_F(PairSuspicionsTest, WhatLooksWrong) {
  std::vector<Pair> same = good();
  for (size_t i = 0; i < same.size(); i += 4) same[i].target = same[i].source;
  EXPECT_PRED2(contains, found(same), "source and target are the same: are both files in one language?");

  std::vector<Pair> empty = good();
  for (size_t i = 0; i < empty.size(); i += 3) empty[i].target = "";
  EXPECT_PRED2(contains, found(empty), "of the targets are empty");

  std::vector<Pair> ratio = good();
  for (size_t i = 0; i < ratio.size(); i += 3) {
    ratio[i].source = "x";
    for (int k = 0; k < 4; ++k) ratio[i].target += " und " + ratio[i].target;
  }
  EXPECT_PRED2(contains, found(ratio), "are the files aligned line by line?");
  EXPECT_PRED2(contains, found(ratio), "times the characters of the other side");

  EXPECT_PRED2(contains, found(good(), 0), "no pairs to choose by");
  EXPECT_PRED2(contains, found(good(), 0), "no pairs to test on");
}

TEST_F(PairSuspicionsTest, WhatIsTrainedOnIsNoTest) {
  put("m/train.en", "a b\nc d\ne f\n");
  put("m/train.de", "1 2\n3 4\n5 6\n");
  put("m/val.en", "g\n");
  put("m/val.de", "7\n");
  put("m/test.en", "c d\nx\n");
  put("m/test.de", "3 4\ny\n");
  ParallelRequest request;
  request.data = data("m");
  request.input = translation(TextUnits::bytes, "en", "de");
  const std::vector<std::string> lines = find_suspicions(load_parallel(request));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0], "test: 50 % of its pairs are trained on");
}

}  // namespace
}  // namespace mega::data
