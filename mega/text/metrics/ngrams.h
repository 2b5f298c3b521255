// The n-grams of a sentence: of its tokens, or of its characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mega {

// A sentence cut into units. Its n-grams are pieces of one string, and views of it.
class UnitSequence {
 public:
  // Units are words that hold no space.
  static UnitSequence of_words(const std::vector<std::string_view>& words);
  // Units are the characters of valid UTF-8.
  static UnitSequence of_characters(std::string text);

  int64_t size() const { return static_cast<int64_t>(units_.size()); }
  int64_t ngrams(int64_t order) const { return size() < order ? 0 : size() - order + 1; }
  std::string_view ngram(int64_t first, int64_t order) const;

 private:
  struct Unit {
    size_t begin, end;
  };
  std::string text_;
  std::vector<Unit> units_;
};

// How often each n-gram of one order occurs. The names are views of the sequence, which must stay where it
// is.
using NgramCounts = std::unordered_map<std::string_view, int64_t>;

NgramCounts count_ngrams(const UnitSequence& units, int64_t order);

// N-grams that both have, each as often as both do.
int64_t matches(const NgramCounts& a, const NgramCounts& b);

}  // namespace mega
