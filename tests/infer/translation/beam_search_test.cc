// Beam search over a small table of distributions: against exhaustive search, greedy search and the released
// procedure, written down step by step.
#include "mega/infer/translation/beam_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "mega/base/error.h"
#include "tests/infer/translation/table_decoder.h"

namespace mega::infer {
namespace {

using mega::testing::TableDecoder;
using Tokens = std::vector<Token>;

SearchSentence sentence(Tokens source, Tokens prefix = {}, uint64_t number = 0) {
  source.push_back(kEnd);
  return {std::move(source), std::move(prefix), number};
}

SearchOptions with(int64_t beam, int64_t max_length) {
  SearchOptions options;
  options.beam = options.nbest = beam;
  options.max_length = max_length;
  options.max_length_extra = 1000;
  return options;
}

NBest search(TableDecoder& decoder, const SearchSentence& one, const SearchOptions& options) {
  return beam_search(decoder, {&one, 1}, options)[0];
}

void expect_same(const NBest& expected, const NBest& actual, double tolerance = 0.0) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(expected[i].tokens, actual[i].tokens) << i;
    EXPECT_NEAR(expected[i].score, actual[i].score, tolerance) << i;
  }
}

// Every target of at most `max_length` tokens before </s>, without <s> and padding.
void enumerate(const TableDecoder& decoder, const SearchSentence& one, const SearchOptions& options,
               Hypothesis open, NBest& all) {
  const auto scores = decoder.log_probabilities(one.source, open.tokens);
  for (Token token = 0; token < decoder.vocabulary(); ++token) {
    const bool full = std::ssize(open.tokens) == options.max_length;
    const bool too_short = std::ssize(open.tokens) < options.min_length;
    if (token == kStart || token == kPad || (token == kEnd ? too_short : full)) continue;
    Hypothesis longer = open;
    longer.tokens.push_back(token);
    longer.sum += static_cast<double>(scores[static_cast<size_t>(token)]);
    if (token != kEnd) {
      enumerate(decoder, one, options, std::move(longer), all);
      continue;
    }
    longer.score = longer.sum / length_divisor(options, std::ssize(longer.tokens));
    all.push_back(std::move(longer));
  }
}

NBest exhaustive(const TableDecoder& decoder, const SearchSentence& one, const SearchOptions& options) {
  NBest all;
  enumerate(decoder, one, options, {}, all);
  std::stable_sort(all.begin(), all.end(),
                   [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  return all;
}

TEST(BeamSearch, WithAWideBeamIsExhaustiveSearch) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    TableDecoder decoder = TableDecoder::random(7, seed);
    const SearchSentence one = sentence({4, 5});
    SearchOptions options = with(4000, 4);  // 4^4 + ... + 4 targets of <unk>, 4, 5 and 6
    options.length_form = seed % 2 == 0 ? LengthForm::released : LengthForm::gnmt;
    options.stop = seed % 4 < 2 ? StopRule::released : StopRule::exact;
    options.length_penalty = static_cast<double>(seed) / 5.0 - 1.0;
    NBest all = exhaustive(decoder, one, options);
    ASSERT_EQ(all.size(), 4u + 16u + 64u + 256u);
    expect_same(all, search(decoder, one, options), 1e-9);
  }
}

TEST(BeamSearch, OfOneIsGreedy) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    TableDecoder decoder = TableDecoder::random(9, seed);
    const SearchSentence one = sentence({4, 5, 6});
    const SearchOptions options = with(1, 7);
    Tokens greedy;
    while (greedy.empty() || greedy.back() != kEnd) {
      auto scores = decoder.log_probabilities(one.source, greedy);
      scores[kStart] = scores[kPad] = -std::numeric_limits<float>::infinity();
      if (greedy.empty()) scores[kEnd] = scores[kPad];  // min_length is 1
      const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
      greedy.push_back(std::ssize(greedy) == options.max_length ? Token{kEnd} : static_cast<Token>(best));
    }
    EXPECT_EQ(search(decoder, one, options).at(0).tokens, greedy);
  }
}

// The released search, of one sentence: matrices with one row per place of the beam. Only <s> is not banned
// there.
NBest released(const TableDecoder& decoder, const SearchSentence& one, const SearchOptions& options) {
  const double kNone = -std::numeric_limits<double>::infinity();
  const auto beam = static_cast<size_t>(options.beam);
  const auto vocabulary = static_cast<size_t>(decoder.vocabulary());
  std::vector<Tokens> tokens(beam);
  std::vector<double> sums(beam, 0.0);
  NBest finished;
  for (int64_t step = 0; step <= options.max_length; ++step) {
    struct Choice {
      double sum;
      size_t place;
      Token token;
    };
    std::vector<Choice> choices;
    for (size_t place = 0; place < (step == 0 ? 1 : beam); ++place) {
      const auto scores = decoder.log_probabilities(one.source, tokens[place]);
      for (size_t v = 0; v < vocabulary; ++v) {
        double score = static_cast<double>(scores[v]);
        if (v == kStart || v == kPad) score = kNone;
        if (v == kUnknown) score -= options.unknown_penalty;
        if (step >= options.max_length && v != kEnd) score = kNone;
        if (step < options.min_length && v == kEnd) score = kNone;
        choices.push_back({sums[place] + score, place, static_cast<Token>(v)});
      }
    }
    std::stable_sort(choices.begin(), choices.end(),
                     [](const Choice& a, const Choice& b) { return a.sum > b.sum; });
    choices.resize(std::min(2 * beam, choices.size() - 1));
    for (size_t i = 0; i < std::min(beam, choices.size()); ++i) {
      if (choices[i].token != kEnd || choices[i].sum == kNone || finished.size() == beam) continue;
      Hypothesis done;
      done.tokens = tokens[choices[i].place];
      done.tokens.push_back(kEnd);
      done.score = choices[i].sum / std::pow(static_cast<double>(step + 1), options.length_penalty);
      finished.push_back(done);
    }
    if (finished.size() == beam || step == options.max_length) break;
    std::vector<Tokens> next;
    std::vector<double> next_sums;
    for (const Choice& choice : choices) {
      if (choice.token == kEnd || next.size() == beam) continue;
      next.push_back(tokens[choice.place]);
      next.back().push_back(choice.token);
      next_sums.push_back(choice.sum);
    }
    while (next.size() < beam) {  // what is ignored from now on
      next.push_back({});
      next_sums.push_back(kNone);
    }
    tokens = next;
    sums = next_sums;
  }
  std::stable_sort(finished.begin(), finished.end(),
                   [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  return finished;
}

TEST(BeamSearch, IsTheReleasedSearch) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    TableDecoder decoder = TableDecoder::random(7 + static_cast<int64_t>(seed % 5), seed, 4.0);
    const SearchSentence one = sentence({4, 5, 6, 4});
    SearchOptions options = with(1 + static_cast<int64_t>(seed % 6), 3 + static_cast<int64_t>(seed % 9));
    options.min_length = static_cast<int64_t>(seed % 3);
    options.unknown_penalty = seed % 2 == 0 ? 0.0 : 0.7;
    options.length_penalty = seed % 4 == 0 ? 1.0 : 0.5;
    options.stop = StopRule::released;
    expect_same(released(decoder, one, options), search(decoder, one, options), 1e-6);
  }
}

// Worked by hand, for a beam of 2. The likeliest translation of all is 4 4 4, but it is longer than two
// others, each of which is among the two best candidates when it ends, and as many as the beam are enough.
TEST(BeamSearch, StopsAsReleasedWhenTheBeamIsFinished) {
  TableDecoder decoder(6, [](const Tokens&, const Tokens& target) {
    const auto of = [](double four, double five, double end) {
      const auto log = [](double p) { return static_cast<float>(std::log(p)); };
      return std::vector<float>{-99, -99, log(end), -99, log(four), log(five)};
    };
    if (target.empty()) return of(0.6, 0.3, 0.1);                            // 4: 0.6, 5: 0.3
    if (target == Tokens{4}) return of(0.9, 1e-9, 0.1);                      // 4 4: 0.54, its end: 0.06
    if (target == Tokens{5}) return of(1e-9, 0.4, 0.6);                      // 5 5: 0.12, its end: 0.18
    if (target == Tokens{4, 4}) return of(0.9, 1e-9, 0.1);                   // 4 4 4: 0.486, its end: 0.054
    if (target == Tokens{5, 5}) return of(1e-9, 0.1, 0.9);                   // 5 5 5: 0.012, its end: 0.108
    return target == Tokens{4, 4, 4} ? of(0.05, 0.05, 0.9) : of(0, 0, 1.0);  // its end: 0.4374
  });
  SearchOptions options = with(2, 9);
  options.stop = StopRule::released;
  const NBest first = search(decoder, sentence({4}), options);
  EXPECT_EQ(decoder.steps, 3);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].tokens, Tokens({5, kEnd}));
  EXPECT_NEAR(first[0].score, std::log(0.18) / std::sqrt(2.0), 1e-6);
  EXPECT_EQ(first[1].tokens, Tokens({5, 5, kEnd}));
  EXPECT_NEAR(first[1].score, std::log(0.108) / std::sqrt(3.0), 1e-6);

  options.stop = StopRule::exact;
  options.nbest = 1;
  const NBest best = search(decoder, sentence({4}), options);
  EXPECT_EQ(best[0].tokens, Tokens({4, 4, 4, kEnd}));
  EXPECT_NEAR(best[0].score, std::log(0.4374) / 2.0, 1e-6);
}

TEST(BeamSearch, BatchedIsOneByOne) {
  for (const bool sample : {false, true}) {
    TableDecoder decoder = TableDecoder::random(12, 3);
    std::vector<SearchSentence> sentences;
    for (int i = 0; i < 9; ++i) {
      Tokens source(static_cast<size_t>(i * i % 7), Token{5});
      source.push_back(static_cast<Token>(4 + i % 5));
      sentences.push_back(sentence(source, Tokens(static_cast<size_t>(i % 3), Token{6}), 100 + i));
    }
    SearchOptions options = with(4, 9);
    options.sample = sample;
    const auto together = beam_search(decoder, sentences, options),
               in_batches = search_in_batches(decoder, sentences, options, 4, 12);
    ASSERT_EQ(together.size(), sentences.size());
    for (size_t i = 0; i < sentences.size(); ++i) {
      const NBest alone = search(decoder, sentences[i], options);
      expect_same(alone, together[i]);
      expect_same(alone, in_batches[i]);
    }
  }
}

TEST(BeamSearch, NBestIsSortedAndDistinct) {
  for (const int64_t groups : {1, 2, 4}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      TableDecoder decoder = TableDecoder::random(8, seed);
      SearchOptions options = with(8, 6);
      options.groups = groups;
      options.diversity = 0.1;
      const NBest best = search(decoder, sentence({4}), options);
      std::set<Tokens> distinct;
      for (size_t i = 0; i < best.size(); ++i) {
        EXPECT_TRUE(distinct.insert(best[i].tokens).second);
        EXPECT_GE(best[i == 0 ? 0 : i - 1].score, best[i].score);
        double sum = 0.0;
        for (const float x : best[i].log_probabilities) sum += static_cast<double>(x);
        EXPECT_NEAR(best[i].sum, sum, 1e-9);
        EXPECT_EQ(best[i].log_probabilities.size(), best[i].tokens.size());
        EXPECT_EQ(best[i].score, best[i].sum / length_divisor(options, std::ssize(best[i].tokens)));
      }
      EXPECT_TRUE(groups > 1 || best.size() == 8u);
    }
  }
}

TEST(BeamSearch, FewerThanTheBeamAreWanted) {
  TableDecoder decoder = TableDecoder::random(8, 1);
  SearchOptions options = with(5, 6);
  const NBest all = search(decoder, sentence({4}), options);
  options.nbest = 2;
  expect_same({all[0], all[1]}, search(decoder, sentence({4}), options));
}

TEST(BeamSearch, BeginsWithThePrefix) {
  TableDecoder decoder = TableDecoder::random(9, 5);
  const SearchOptions options = with(3, 6);
  const Tokens prefix = {7, 8, kUnknown};
  const NBest best = search(decoder, sentence({4, 5}, prefix), options);
  ASSERT_EQ(best.size(), 3u);
  for (const Hypothesis& each : best) {
    EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), each.tokens.begin()));
    // Its probability counts.
    EXPECT_EQ(each.log_probabilities[1], decoder.log_probabilities(sentence({4, 5}).source, {7})[8]);
  }
  // A prefix as long as, or longer than, the longest translation.
  EXPECT_EQ(search(decoder, sentence({4}, {7, 7, 7, 7, 7, 7, 7, 7}), options).at(0).tokens,
            Tokens({7, 7, 7, 7, 7, 7, 7, 7, kEnd}));
}

TEST(BeamSearch, RejectsBadPrefixesAndSources) {
  TableDecoder decoder = TableDecoder::random(9, 5);
  const SearchOptions options = with(3, 6);
  for (const Token bad : {Token{-1}, Token{9}, Token{kEnd}, Token{kPad}})
    EXPECT_THROW(search(decoder, sentence({4}, {bad}), options), Error) << bad;
  EXPECT_THROW(search(decoder, {{4, 5}, {}, 0}, options), Error);
  EXPECT_THROW(search(decoder, {{}, {}, 0}, options), Error);
  decoder.positions = 3;
  EXPECT_THROW(search(decoder, sentence({4}, {7, 7, 7}), options), Error);
  EXPECT_EQ(search(decoder, sentence({4}, {7, 7}), options).at(0).tokens, Tokens({7, 7, kEnd}));
  EXPECT_TRUE(beam_search(decoder, {}, options).empty());
}

TEST(BeamSearch, RepeatsNoNGram) {
  // Always the same token.
  TableDecoder decoder(
      9, [](const Tokens&, const Tokens&) { return std::vector<float>{-9, -9, -7, -9, 5, 4, 3, -9, -9}; });
  for (const int64_t n : {1, 2, 3}) {
    SearchOptions options = with(4, 30);
    options.no_repeat = n;
    for (const Hypothesis& each : search(decoder, sentence({4}), options)) {
      std::set<Tokens> seen;
      for (size_t i = 0; i + static_cast<size_t>(n) <= each.tokens.size(); ++i)
        EXPECT_TRUE(seen.insert({each.tokens.begin() + static_cast<ptrdiff_t>(i),
                                 each.tokens.begin() + static_cast<ptrdiff_t>(i) + n})
                        .second);
    }
  }
  const NBest free = search(decoder, sentence({4}), with(1, 30));
  EXPECT_EQ(free[0].tokens, [] {
    Tokens all(30, Token{4});
    all.push_back(kEnd);
    return all;
  }());
}

TEST(BeamSearch, ADeadEndIsTheEnd) {
  // Each token but </s> is used up before the least length is reached.
  TableDecoder decoder = TableDecoder::random(6, 5);
  SearchOptions options = with(2, 30);
  options.no_repeat = 1;
  options.min_length = 20;
  for (const bool sample : {false, true}) {
    options.sample = sample;
    for (const Hypothesis& each : search(decoder, sentence({4}), options)) {
      EXPECT_EQ(each.tokens.back(), kEnd);
      EXPECT_LE(each.tokens.size(), 6u);
    }
  }
}

TEST(BeamSearch, KeepsToLengths) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    TableDecoder decoder = TableDecoder::random(6, seed);
    SearchOptions options = with(4, 12);
    options.min_length = 8;
    for (const Hypothesis& each : search(decoder, sentence({4}), options)) {
      EXPECT_GE(each.tokens.size(), 9u);
      EXPECT_LE(each.tokens.size(), 13u);
      EXPECT_EQ(std::count(each.tokens.begin(), each.tokens.end(), kEnd), 1);
    }
    options.min_length = 50;  // more than allowed: as long as allowed
    for (const Hypothesis& each : search(decoder, sentence({4}), options)) EXPECT_EQ(each.tokens.size(), 13u);
  }
  // Never </s>: the limit by the length of the source, which has 4 tokens with </s>.
  TableDecoder endless(5, [](const Tokens&, const Tokens&) { return std::vector<float>{0, 0, -50, 0, 9}; });
  SearchOptions options = with(1, 0);
  options.max_length_factor = 1.75;
  options.max_length_extra = 3;
  EXPECT_EQ(search(endless, sentence({4, 4, 4}), options)[0].tokens.size(), 11u);
  endless.positions = 6;
  EXPECT_EQ(search(endless, sentence({4, 4, 4}), options)[0].tokens.size(), 6u);
}

TEST(BeamSearch, TiesAreDeterministic) {
  TableDecoder decoder(8, [](const Tokens&, const Tokens&) { return std::vector<float>(8, 0.0f); });
  const NBest best = search(decoder, sentence({4}), with(3, 3));
  // The smallest tokens first.
  ASSERT_EQ(best.size(), 3u);
  expect_same(best, search(decoder, sentence({4}), with(3, 3)));
  EXPECT_EQ(search(decoder, sentence({4}), with(1, 3))[0].tokens, Tokens({kUnknown, kEnd}));
}

TEST(BeamSearch, RejectsWhatIsNoDistribution) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (size_t place = 0; place < 300; place += 37) {
      TableDecoder decoder(300, [=](const Tokens&, const Tokens& target) {
        std::vector<float> logits(300, 0.0f);
        if (target.size() == 2) logits[place] = bad;
        return logits;
      });
      SearchOptions options = with(3, 5);
      EXPECT_THROW(search(decoder, sentence({4}), options), Error) << bad << " at " << place;
      options.sample = true;
      EXPECT_THROW(search(decoder, sentence({4}), options), Error) << bad << " at " << place;
    }
  }
}

TEST(BeamSearch, ExactStopFindsNoBetterLater) {
  int64_t fewer = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    for (const LengthForm form : {LengthForm::released, LengthForm::gnmt}) {
      TableDecoder decoder = TableDecoder::random(7, seed, 5.0);
      SearchOptions options = with(4, 12);
      options.nbest = 1;
      options.length_form = form;
      options.length_penalty = static_cast<double>(seed % 5) * 0.4 - 0.4;
      options.stop = StopRule::exact;
      const NBest best = search(decoder, sentence({4, 5}), options);
      const int64_t steps = decoder.steps;
      // Going on to the end: all places of the beam are wanted, and there are never enough.
      options.beam = 4;
      options.nbest = 4;
      SearchOptions whole = options;
      whole.stop = StopRule::exact;
      decoder.steps = 0;
      NBest all = search(decoder, sentence({4, 5}), whole);
      EXPECT_EQ(all[0].tokens, best[0].tokens);
      EXPECT_LE(steps, decoder.steps);
      fewer += steps < decoder.steps ? 1 : 0;
    }
  }
  EXPECT_GT(fewer, 0);
}

TEST(BeamSearch, ExactStopIsAtLeastAsGoodAsReleased) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    TableDecoder decoder = TableDecoder::random(7, seed, 3.0);
    SearchOptions options = with(3, 10);
    options.stop = StopRule::released;
    const double first = search(decoder, sentence({4}), options)[0].score;
    options.stop = StopRule::exact;
    EXPECT_GE(search(decoder, sentence({4}), options)[0].score, first - 1e-12);
  }
}

TEST(BeamSearch, BoundsAreReached) {
  SearchOptions options;
  for (const LengthForm form : {LengthForm::released, LengthForm::gnmt}) {
    options.length_form = form;
    for (const double alpha : {-1.0, 0.0, 0.6, 2.0}) {
      options.length_penalty = alpha;
      double best = -1e9;
      for (int64_t length = 4; length <= 10; ++length)  // 3 tokens so far, 9 before </s> at most
        best = std::max(best, -2.5 / length_divisor(options, length));
      EXPECT_DOUBLE_EQ(best_attainable(options, -2.5, 3, 9), best);
    }
  }
}

TEST(BeamSearch, DiverseGroupsDiffer) {
  TableDecoder decoder = TableDecoder::random(30, 4, 3.0);
  SearchOptions options = with(4, 6);
  options.groups = 4;
  options.diversity = 0.0;
  EXPECT_EQ(search(decoder, sentence({4}), options).size(), 1u);  // four times the same
  options.diversity = 100.0;
  const NBest best = search(decoder, sentence({4}), options);
  ASSERT_EQ(best.size(), 4u);
  for (size_t i = 0; i < best.size(); ++i)
    for (size_t k = 0; k < i; ++k) EXPECT_NE(best[i].tokens[0], best[k].tokens[0]);
  // The first group is not disturbed, and scores are the model's.
  const NBest alone = search(decoder, sentence({4}), with(1, 6));
  EXPECT_TRUE(std::any_of(best.begin(), best.end(), [&](const Hypothesis& each) {
    return each.tokens == alone[0].tokens && each.score == alone[0].score;
  }));
}

TEST(BeamSearch, PenalisesUnknown) {
  TableDecoder decoder(6, [](const Tokens&, const Tokens& target) {
    return target.size() < 2 ? std::vector<float>{0, 0, -9, 5, 4, 0} : std::vector<float>{0, 0, 9, 0, 0, 0};
  });
  SearchOptions options = with(1, 6);
  EXPECT_EQ(search(decoder, sentence({4}), options)[0].tokens, Tokens({kUnknown, kUnknown, kEnd}));
  options.unknown_penalty = 2.0;
  EXPECT_EQ(search(decoder, sentence({4}), options)[0].tokens, Tokens({4, 4, kEnd}));
}

TEST(BeamSearch, FinishedHypothesesCostNothing) {
  TableDecoder decoder(6, [](const Tokens& source, const Tokens& target) {
    std::vector<float> logits(6, 0.0f);
    logits[4] = 5.0f;
    if (target.size() + 1 >= source.size()) logits[kEnd] = 30.0f;
    return logits;
  });
  std::vector<SearchSentence> sentences = {sentence({4}), sentence({4, 4, 4, 4, 4, 4})};
  const auto results = beam_search(decoder, sentences, with(1, 20));
  EXPECT_EQ(results[0][0].tokens.size(), 2u);
  EXPECT_EQ(results[1][0].tokens.size(), 7u);
  EXPECT_EQ(decoder.rows, 2 + 7);
}

TEST(BeamSearch, SamplesFromTheDistribution) {
  TableDecoder decoder(7, [](const Tokens&, const Tokens& target) {
    return target.empty() ? std::vector<float>{-9, -9, -9, -9, 0, std::log(3.0f), -9}
                          : std::vector<float>{-9, -9, 9, -9, -9, -9, -9};
  });
  SearchOptions options = with(1, 5);
  options.sample = true;
  int64_t threes = 0;
  constexpr int kDraws = 2000;
  for (int i = 0; i < kDraws; ++i) {
    const NBest one = search(decoder, sentence({4}, {}, static_cast<uint64_t>(i)), options);
    threes += one[0].tokens[0] == 5 ? 1 : 0;
    EXPECT_NEAR(one[0].log_probabilities[0], one[0].tokens[0] == 5 ? std::log(0.75) : std::log(0.25), 1e-2);
  }
  EXPECT_NEAR(static_cast<double>(threes) / kDraws, 0.75, 0.04);
  options.sampler.temperature = 0.0;
  options.beam = options.nbest = 3;
  EXPECT_EQ(search(decoder, sentence({4}), options).size(), 1u);  // three times the most likely one
}

// Embeddings are rounded up to a number that products like: the last ones are no word's.
TEST(BeamSearch, WritesOnlyWordsOfTheVocabulary) {
  TableDecoder decoder(12, [](const Tokens&, const Tokens& target) {
    std::vector<float> logits(12, 0.0f);
    logits[kStart] = logits[kPad] = logits[10] = logits[11] = 5.0f;
    logits[9] = 1.0f;
    logits[kEnd] = target.size() < 3 ? -5.0f : 4.0f;
    return logits;
  });
  const SearchSentence one = sentence({4});
  for (const bool sample : {false, true}) {
    SearchOptions options = with(4, 9);
    options.sample = sample;
    const NBest best = beam_search(decoder, {&one, 1}, options, {10, nullptr})[0];
    EXPECT_FALSE(best.empty());
    for (const Hypothesis& each : best)
      for (const Token token : each.tokens) EXPECT_TRUE(token >= kEnd && token < 10) << token;
  }
  const SearchOptions greedy = with(1, 9);
  EXPECT_EQ(beam_search(decoder, {&one, 1}, greedy, {10, nullptr})[0][0].tokens, Tokens({9, 9, 9, kEnd}));
  EXPECT_EQ(beam_search(decoder, {&one, 1}, greedy)[0][0].tokens.front(), 10) << "all 12 are words";
  EXPECT_THROW(beam_search(decoder, {&one, 1}, greedy, {13, nullptr}), Error);
  const SearchSentence prefixed = sentence({4}, {10});
  EXPECT_THROW(beam_search(decoder, {&prefixed, 1}, greedy, {10, nullptr}), Error);
  const Shortlist other({{}, {}, {}, {}, {7, 10}}, {});
  EXPECT_THROW(beam_search(decoder, {&one, 1}, greedy, {10, &other}), Error);
}

TEST(BeamSearch, ChoosesFromTheShortlist) {
  const Shortlist shortlist({{}, {}, {}, {}, {7, 9}, {8, 9}}, {});
  for (const bool can : {true, false}) {
    TableDecoder decoder = TableDecoder::random(12, 8);
    decoder.can_restrict = can;
    const std::vector<SearchSentence> sentences = {sentence({4}), sentence({5}, {11})};
    const auto results = beam_search(decoder, sentences, with(3, 8), {0, &shortlist});
    std::set<Token> used;
    for (const NBest& best : results)
      for (const Hypothesis& each : best) used.insert(each.tokens.begin(), each.tokens.end());
    const std::set<Token> allowed = {kEnd, kUnknown, 7, 8, 9, 11};
    EXPECT_EQ(std::includes(allowed.begin(), allowed.end(), used.begin(), used.end()), can);
    EXPECT_EQ(results[1][0].tokens[0], 11);
  }
  TableDecoder small = TableDecoder::random(8, 8);
  const SearchSentence one = sentence({4});
  EXPECT_THROW(beam_search(small, {&one, 1}, with(3, 8), {0, &shortlist}), Error);
  SearchOptions sampling = with(3, 8);
  sampling.sample = true;
  TableDecoder decoder = TableDecoder::random(12, 8);
  const NBest sampled = beam_search(decoder, {&one, 1}, sampling, {0, &shortlist})[0];
  EXPECT_FALSE(sampled.empty());
  for (const Hypothesis& each : sampled)
    for (const Token token : each.tokens) EXPECT_TRUE(token == kEnd || token == 7 || token == 9);
}

TEST(BeamSearch, KeepsAlignments) {
  TableDecoder decoder = TableDecoder::random(8, 1);
  const NBest best = search(decoder, sentence({4, 5, 6}), with(2, 6));
  for (const Hypothesis& each : best) {
    ASSERT_EQ(each.aligned.size(), each.tokens.size());
    for (size_t i = 0; i < each.aligned.size(); ++i)
      EXPECT_EQ(each.aligned[i], i < 3 ? static_cast<int64_t>(i) : 0);  // not to </s>
  }
}

TEST(BeamSearch, RejectsOptionsThatDoNotFit) {
  TableDecoder decoder = TableDecoder::random(8, 1);
  const auto throws = [&](const auto& change) {
    SearchOptions options = with(4, 6);
    change(options);
    EXPECT_THROW(search(decoder, sentence({4}), options), Error);
  };
  throws([](SearchOptions& o) { o.beam = 0; });
  throws([](SearchOptions& o) { o.nbest = 5; });
  throws([](SearchOptions& o) { o.groups = 3; });
  throws([](SearchOptions& o) { o.unknown_penalty = -1; });
  throws([](SearchOptions& o) { o.groups = 2, o.sample = true; });
  throws([](SearchOptions& o) { o.sampler.top_p = 2, o.sample = true; });
}

TEST(LengthBatches, AreFullAndSorted) {
  std::vector<SearchSentence> sentences;
  for (const size_t length : {3u, 9u, 1u, 20u, 5u, 5u, 2u})
    sentences.push_back(sentence(Tokens(length, Token{4})));
  const auto batches = length_batches(sentences, 3, 16);
  const std::vector<std::vector<size_t>> expected = {{3}, {1, 4}, {5, 0, 6}, {2}};
  EXPECT_EQ(batches, expected);
  EXPECT_TRUE(length_batches({}, 3, 16).empty());
}

}  // namespace
}  // namespace mega::infer
