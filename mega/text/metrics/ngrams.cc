#include "mega/text/metrics/ngrams.h"

#include <algorithm>

#include "mega/base/utf8.h"

namespace mega {

UnitSequence UnitSequence::of_words(const std::vector<std::string_view>& words) {
  UnitSequence result;
  for (const std::string_view word : words) {
    const size_t begin = result.text_.size();
    result.text_ += word;
    result.units_.push_back({begin, result.text_.size()});
    result.text_ += ' ';  // between the words of an n-gram, so that "a bc" and "ab c" are two
  }
  return result;
}

UnitSequence UnitSequence::of_characters(std::string text) {
  UnitSequence result;
  result.text_ = std::move(text);
  for (size_t begin = 0; begin < result.text_.size();) {
    const size_t end = begin + first_character(std::string_view(result.text_).substr(begin)).length;
    result.units_.push_back({begin, end});
    begin = end;
  }
  return result;
}

std::string_view UnitSequence::ngram(int64_t first, int64_t order) const {
  const size_t begin = units_[static_cast<size_t>(first)].begin;
  return std::string_view(text_).substr(begin, units_[static_cast<size_t>(first + order - 1)].end - begin);
}

NgramCounts count_ngrams(const UnitSequence& units, int64_t order) {
  NgramCounts counts;
  for (int64_t i = 0; i < units.ngrams(order); ++i) ++counts[units.ngram(i, order)];
  return counts;
}

int64_t matches(const NgramCounts& a, const NgramCounts& b) {
  int64_t sum = 0;
  for (const auto& [ngram, count] : a) {
    const auto found = b.find(ngram);
    if (found != b.end()) sum += std::min(count, found->second);
  }
  return sum;
}

}  // namespace mega
