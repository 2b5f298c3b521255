#include "mega/text/metrics/chrf.h"

#include <gtest/gtest.h>

namespace mega {
namespace {

using Lines = std::vector<std::string>;

double score_of(const Metric& metric, const Lines& hypotheses, const std::vector<Lines>& references) {
  return metric.score(sum_of(corpus_statistics(metric, hypotheses, references)));
}

// Of sacreBLEU's README: two references, chrF2 = 59.73.
TEST(Chrf, ReadmeExample) {
  const Lines hypotheses = {"The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."};
  const std::vector<Lines> references = {
      {"The dog bit the man.", "It was not unexpected.", "The man bit him first."},
      {"The dog had bit the man.", "No one was surprised.", "The man had bitten the dog."}};
  EXPECT_NEAR(score_of(Chrf(0, false), hypotheses, references), 59.73, 0.005);
}

// sacreBLEU's test/test_chrf.py, cases of effective order whose precision equals recall, so that its beta of
// 3 and ours of 2 give the same.
TEST(Chrf, SmallCases) {
  const Chrf chrf(0, false);
  EXPECT_NEAR(score_of(chrf, {"a"}, {{"a"}}), 100, 1e-9);
  EXPECT_NEAR(score_of(chrf, {"a b c"}, {{"abc"}}), 100, 1e-9) << "space does not count";
  EXPECT_NEAR(score_of(chrf, {"a", "b"}, {{"a", "c"}}), 50, 1e-9);
  EXPECT_NEAR(score_of(chrf, {"aa"}, {{"ab"}}), 25, 1e-9);
  EXPECT_EQ(score_of(chrf, {"abcdefg"}, {{"hijklmnop"}}), 0);
  EXPECT_EQ(score_of(chrf, {""}, {{"reference"}}), 0);
  EXPECT_EQ(score_of(chrf, {"hypothesis"}, {{""}}), 0);
  EXPECT_EQ(chrf.score({}), 0);
}

// By hand. "abc" against "abd": unigrams 2 of 3 and 3, bigrams 1 of 2 and 2, trigrams 0 of 1 and 1: (2/3 +
// 1/2) / 3.
TEST(Chrf, CountsByOrder) {
  const Chrf chrf(0, false);
  const Statistics statistics = chrf.statistics("abc", Lines{"ab d"});
  EXPECT_EQ(Statistics(statistics.begin(), statistics.begin() + 12),
            (Statistics{3, 3, 2, 2, 2, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_NEAR(chrf.score(statistics), 100 * (2.0 / 3 + 0.5) / 3, 1e-9);
  // Where the reference has no n-gram of an order, those of the hypothesis do not count.
  EXPECT_EQ(chrf.statistics("ab", Lines{"a"})[3], 0);
}

// By hand: precision 1 and recall 1/2 of the unigrams; F with beta 2 is 5 p r / (4 p + r).
TEST(Chrf, RecallCountsMore) {
  EXPECT_NEAR(score_of(Chrf(0, false), {"a"}, {{"ab"}}), 100 * 5 * 0.5 / 4.5, 1e-9);
  EXPECT_NEAR(score_of(Chrf(0, false), {"ab"}, {{"a"}}), 100 * 5 * 0.5 / (4 * 0.5 + 1), 1e-9);
}

// By hand. Words of "(no) yes." are "(no", ")", "yes" and "."; of "no yes" two, of which one matches.
TEST(Chrf, WordsOfPlusPlus) {
  const Chrf chrf(2, false);
  EXPECT_EQ(chrf.name(), "chrF2++");
  const Statistics statistics = chrf.statistics("(no) yes.", Lines{"no yes"});
  ASSERT_EQ(statistics.size(), 24u);
  EXPECT_EQ(Statistics(statistics.begin() + 18, statistics.end()), (Statistics{4, 2, 1, 3, 1, 0}));
  const Statistics marks = chrf.statistics("„a \"b é. .", Lines{"„a \" b é . ."});
  EXPECT_EQ(Statistics(marks.begin() + 18, marks.begin() + 21), (Statistics{6, 6, 6}));
}

TEST(Chrf, BestReferenceAndCase) {
  const Chrf chrf(0, false);
  EXPECT_EQ(chrf.statistics("good", Lines{"bad", "good", "goods"}), chrf.statistics("good", Lines{"good"}));
  EXPECT_LT(score_of(chrf, {"ÄB"}, {{"äb"}}), 60);
  EXPECT_NEAR(score_of(Chrf(0, true), {"ÄB"}, {{"äb"}}), 100, 1e-9);
  EXPECT_NEAR(score_of(chrf, {"a\xFF"}, {{"a\xFE"}}), 100, 1e-9)
      << "invalid bytes are replacement characters";
}

}  // namespace
}  // namespace mega
