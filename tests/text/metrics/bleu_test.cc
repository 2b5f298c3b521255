#include "mega/text/metrics/bleu.h"

#include <gtest/gtest.h>

#include <cmath>

#include "mega/base/version.h"
#include "tests/base/helpers.h"

namespace mega {
namespace {

using testing::contains;
using testing::error_of;
using Lines = std::vector<std::string>;

// The example of sacreBLEU's README.
const Lines kHypotheses = {"The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."};
const std::vector<Lines> kReferences = {
    {"The dog bit the man.", "It was not unexpected.", "The man bit him first."},
    {"The dog had bit the man.", "No one was surprised.", "The man had bitten the dog."}};

BleuScore score_of(const Lines& hypotheses, const std::vector<Lines>& references,
                   const MetricOptions& options = {}) {
  const Bleu bleu(options);
  return bleu.details(sum_of(corpus_statistics(bleu, hypotheses, references)));
}

// Expected values: sacreBLEU's test/test_bleu.py.
TEST(Bleu, ReadmeExample) {
  const BleuScore bleu = score_of(kHypotheses, kReferences);
  EXPECT_NEAR(bleu.score, 48.530827, 1e-6);
  EXPECT_EQ(bleu.matches, (std::vector<double>{14, 7, 5, 3}));
  EXPECT_EQ(bleu.totals, (std::vector<double>{17, 14, 11, 8}));
  EXPECT_EQ(bleu.hypothesis_length, 17);
  EXPECT_EQ(bleu.reference_length, 18);
  EXPECT_NEAR(bleu.brevity_penalty, std::exp(1 - 18.0 / 17), 1e-12);
  EXPECT_NEAR(score_of(kHypotheses, kReferences, {.tokenize = BleuTokens::none}).score, 49.1919566, 1e-6);
  EXPECT_NEAR(score_of(kHypotheses, kReferences, {.tokenize = BleuTokens::intl}).score, 43.91623493, 1e-6);
  EXPECT_NEAR(score_of(kHypotheses, kReferences, {.smooth = BleuSmoothing::none}).score, 48.530827, 1e-6);
  EXPECT_EQ(score_of({"", "", ""}, kReferences).score, 0);
  const double by_order[] = {77.65, 60.50, 53.93, 48.53, 46.14, 43.28};
  for (int64_t order = 1; order <= 6; ++order)
    EXPECT_NEAR(score_of(kHypotheses, kReferences, {.order = order}).score, by_order[order - 1], 0.005)
        << order;
}

// Expected values: sacreBLEU's test/test_sentence_bleu.py, three digits.
TEST(Bleu, SentencesAndSmoothing) {
  const Lines reference = {"producţia de zahăr brut se exprimă în zahăr alb;"};
  const auto sentence = [&](const MetricOptions& options) {
    const Bleu bleu(options);
    return bleu.sentence_score(bleu.statistics(
        "Producția de zahăr primă va fi exprimată în ceea ce privește zahărul alb;", reference));
  };
  using S = BleuSmoothing;
  EXPECT_NEAR(sentence({}), 8.493, 1e-3);
  EXPECT_NEAR(sentence({.smooth = S::none}), 0, 1e-12);
  EXPECT_NEAR(sentence({.smooth = S::floor}), 4.51688, 1e-3);
  EXPECT_NEAR(sentence({.smooth = S::floor, .smooth_value = 0.1}), 4.51688, 1e-3);
  EXPECT_NEAR(sentence({.smooth = S::floor, .smooth_value = 0.5}), 10.10, 1e-2);
  EXPECT_NEAR(sentence({.smooth = S::add_k}), 14.882, 1e-3);
  EXPECT_NEAR(sentence({.smooth = S::add_k, .smooth_value = 2}), 21.389, 1e-3);
  EXPECT_NEAR(sentence({.tokenize = BleuTokens::none}), 7.347, 1e-3);
  EXPECT_NEAR(sentence({.tokenize = BleuTokens::intl}), 8.493, 1e-3);
  EXPECT_NEAR(sentence({.tokenize = BleuTokens::characters}), 40.8759, 1e-3);
  EXPECT_NEAR(sentence({.tokenize = BleuTokens::characters, .lowercase = true}), 42.0267, 1e-3);
}

TEST(Bleu, NoMatchIsZeroUnderAnySmoothing) {
  for (const BleuSmoothing smooth :
       {BleuSmoothing::exp, BleuSmoothing::floor, BleuSmoothing::add_k, BleuSmoothing::none}) {
    const Bleu bleu({.smooth = smooth});
    EXPECT_EQ(bleu.sentence_score(bleu.statistics("this is a cat", Lines{"okay thanks"})), 0);
    EXPECT_EQ(bleu.sentence_score(bleu.statistics("", Lines{""})), 0);
    EXPECT_EQ(bleu.sentence_score(bleu.statistics("word", Lines{""})), 0);
    EXPECT_EQ(bleu.score({}), 0);
  }
}

// By hand: two of two unigrams and one of one bigram match; the sentence has no longer n-grams.
TEST(Bleu, EffectiveOrderIsForSentencesOnly) {
  const Bleu bleu({});
  const Statistics statistics = bleu.statistics("a test", Lines{"a test"});
  EXPECT_EQ(statistics, (Statistics{2, 2, 2, 1, 0, 0, 2, 1, 0, 0}));
  EXPECT_NEAR(bleu.sentence_score(statistics), 100, 1e-9);
  EXPECT_EQ(bleu.score(statistics), 0);
}

TEST(Bleu, SeveralReferences) {
  const Bleu bleu({.tokenize = BleuTokens::none});
  // "the" matches twice, as often as in the second; of lengths 2 and 4 the shorter is as close to 3.
  EXPECT_EQ(bleu.statistics("the the the", Lines{"the x", "the the y z"}),
            (Statistics{3, 2, 2, 1, 0, 0, 3, 2, 1, 0}));
  EXPECT_EQ(bleu.statistics("a", Lines{"a b c", "a b", ""})[1], 0) << "an empty reference is one, too";
  EXPECT_EQ(bleu.statistics("a b", Lines{"a b"}), bleu.statistics("a b", Lines{"a b", "a b"}));
  // "a bc" and "ab c" are different bigrams.
  EXPECT_EQ(bleu.statistics("a bc", Lines{"ab c"})[3], 0);
}

TEST(Bleu, StatisticsAddUp) {
  const Bleu bleu({});
  const auto sentences = corpus_statistics(bleu, kHypotheses, kReferences);
  Statistics first = sentences[0], rest = sentences[1];
  add(rest, sentences[2]);
  add(first, rest);
  EXPECT_EQ(first, sum_of(sentences));
  EXPECT_TRUE(contains(error_of([&] { add(first, Statistics(3)); }), "10 and 3 numbers"));
}

// By hand: "Ä" is no ASCII letter, so multi-bleu.perl leaves it as it is.
TEST(Bleu, MultiBleuReadsBytes) {
  const MetricOptions options{
      .tokenize = BleuTokens::multi_bleu, .lowercase = true, .smooth = BleuSmoothing::none};
  const Bleu bleu(options);
  EXPECT_EQ(bleu.statistics("THE Ä", Lines{"the ä"}), (Statistics{2, 2, 1, 0, 0, 0, 2, 1, 0, 0}));
  MetricOptions compounds = options;
  compounds.compounds = true;
  EXPECT_EQ(Bleu(compounds).statistics("rich-text", Lines{"rich-man"}),
            (Statistics{3, 3, 2, 1, 0, 0, 3, 2, 1, 0}));
}

TEST(Bleu, Signature) {
  const std::string version_part = std::string("|version:mega-") + version();
  EXPECT_EQ(Bleu({}).signature("nrefs:1", false),
            "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp" + version_part);
  EXPECT_EQ(Bleu({.tokenize = BleuTokens::intl, .lowercase = true, .smooth = BleuSmoothing::floor})
                .signature("nrefs:2", true),
            "nrefs:2|case:lc|eff:yes|tok:intl|smooth:floor[0.10]" + version_part);
}

TEST(Bleu, OptionsThatDoNotFit) {
  EXPECT_TRUE(contains(error_of([] { Bleu({.compounds = true}); }), "multi-bleu"));
  EXPECT_TRUE(contains(error_of([] { Bleu({.smooth_value = 0.5}); }), "exp takes no value"));
  EXPECT_TRUE(contains(error_of([] { make_metric(MetricKind::bleu, {.order = 0}); }), "order"));
  EXPECT_TRUE(contains(error_of([] { Bleu({}).statistics("a", Lines{}); }), "needs a reference"));
  EXPECT_TRUE(contains(error_of([] {
                         corpus_statistics(Bleu({}), Lines{"a"}, std::vector<Lines>{{"a", "b"}});
                       }),
                       "2 lines for 1"));
}

}  // namespace
}  // namespace mega
