#include "mega/text/metrics/chrf.h"

#include "mega/base/error.h"
#include "mega/base/utf8.h"
#include "mega/base/version.h"
#include "mega/text/metrics/ngrams.h"
#include "mega/text/metrics/words.h"
#include "mega/text/unicode/lower_case.h"

namespace mega {
namespace {

constexpr int64_t kCharacterOrder = 6;
constexpr double kBeta = 2;

bool is_ascii_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// Words and one mark of punctuation at the end of each or, if there is none, at its beginning: of "(no)" the
// words are
// "(no" and ")".
std::vector<std::string_view> words_and_marks(std::string_view text) {
  std::vector<std::string_view> result;
  for (const std::string_view word : split_words(text)) {
    const bool single = first_character(word).length == word.size();
    if (!single && is_ascii_punctuation(word.back())) {
      result.push_back(word.substr(0, word.size() - 1));
      result.push_back(word.substr(word.size() - 1));
    } else if (!single && is_ascii_punctuation(word.front())) {
      result.push_back(word.substr(0, 1));
      result.push_back(word.substr(1));
    } else {
      result.push_back(word);
    }
  }
  return result;
}

// A sentence's n-grams of all orders.
class Sentence {
 public:
  Sentence(std::string_view line, int64_t word_order, bool lowercase) {
    const std::string text = lowercase ? lower_case(line) : valid_utf8(line);
    std::string without_space;
    for (const std::string_view word : split_words(text)) without_space += word;
    characters_ = UnitSequence::of_characters(std::move(without_space));
    if (word_order > 0) words_ = UnitSequence::of_words(words_and_marks(text));
    for (int64_t n = 1; n <= kCharacterOrder; ++n) counts_.push_back(count_ngrams(characters_, n));
    for (int64_t n = 1; n <= word_order; ++n) counts_.push_back(count_ngrams(words_, n));
    for (int64_t n = 1; n <= kCharacterOrder; ++n) totals_.push_back(characters_.ngrams(n));
    for (int64_t n = 1; n <= word_order; ++n) totals_.push_back(words_.ngrams(n));
  }
  Sentence(const Sentence&) = delete;  // the counts point into it
  Sentence& operator=(const Sentence&) = delete;

  Statistics against(const Sentence& reference) const {
    Statistics result;
    for (size_t i = 0; i < counts_.size(); ++i) {
      result.push_back(reference.totals_[i] > 0 ? static_cast<double>(totals_[i]) : 0);
      result.push_back(static_cast<double>(reference.totals_[i]));
      result.push_back(static_cast<double>(matches(counts_[i], reference.counts_[i])));
    }
    return result;
  }

 private:
  UnitSequence characters_, words_;
  std::vector<NgramCounts> counts_;
  std::vector<int64_t> totals_;
};

}  // namespace

std::string Chrf::name() const { return "chrF2" + std::string(static_cast<size_t>(word_order_), '+'); }

std::string Chrf::signature(const std::string& corpus, bool) const {
  return corpus + "|case:" + (lowercase_ ? "lc" : "mixed") +
         "|eff:yes|nc:" + std::to_string(kCharacterOrder) + "|nw:" + std::to_string(word_order_) +
         "|space:no|version:mega-" + version();
}

Statistics Chrf::statistics(std::string_view hypothesis, std::span<const std::string> references) const {
  require(!references.empty(), "chrF needs a reference");
  const Sentence guess(hypothesis, word_order_, lowercase_);
  Statistics best;
  double best_score = -1;
  for (const std::string& reference : references) {
    Statistics candidate = guess.against(Sentence(reference, word_order_, lowercase_));
    const double candidate_score = score(candidate);
    if (candidate_score > best_score) {
      best_score = candidate_score;
      best = std::move(candidate);
    }
  }
  return best;
}

double Chrf::score(const Statistics& sum) const {
  double precision = 0, recall = 0, orders = 0;
  for (size_t i = 0; i + 2 < sum.size(); i += 3) {
    const double guessed = sum[i], expected = sum[i + 1], both = sum[i + 2];
    if (guessed == 0 || expected == 0) continue;
    precision += both / guessed;
    recall += both / expected;
    ++orders;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  constexpr double kWeight = kBeta * kBeta;
  return 100 * (1 + kWeight) * precision * recall / (kWeight * precision + recall);
}

}  // namespace mega
