// Byte pair encoding of words as subword-nmt does it (Sennrich et al. 2016): a list of pairs that are merged,
// in the order in which they were learnt. Frequent words end up as one symbol, rare ones as several.
//
// A file of codes has one pair per line, its halves apart by a blank; "</w>" marks the end of a word. It may
// begin with "#version: 0.2", where the end mark is part of the last character from the start, or
// "#version: 0.1", the same as no such line, where it is a symbol of its own.
//
// In a text, a symbol that does not end its word is followed by "@@": "unbelievable" may be "un@@ believ@@
// able".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mega {

inline constexpr std::string_view kBpeJoiner = "@@";
inline constexpr std::string_view kEndOfWord = "</w>";

// Whether a symbol, without its joiner, is in a vocabulary.
using IsKnownSymbol = std::function<bool(std::string_view symbol, bool ends_word)>;

// Immutable after construction; safe to use from many threads.
class BpeCodes {
 public:
  // The text of a file of codes; Error where it is none. `where` names it.
  BpeCodes(std::string_view text, const std::string& where);
  BpeCodes(const BpeCodes&) = delete;
  BpeCodes& operator=(const BpeCodes&) = delete;

  // A file of these codes, with its version.
  std::string text() const;

  // Appends the symbols of a word, in order: views of it. Bytes that are no UTF-8 are symbols of their own.
  // Takes time n log n, so that a line without blanks is no trouble.
  void segment(std::string_view word, std::vector<std::string_view>& symbols) const;

  // The same, with symbols that are not known taken apart again, merge by merge, until their parts are known
  // or single characters. A word of one character stays as it is.
  void segment(std::string_view word, const IsKnownSymbol& is_known,
               std::vector<std::string_view>& symbols) const;

 private:
  struct Merge {
    int32_t rank;
    int32_t merged;
  };
  class Word;

  void add_code(std::string_view first, std::string_view second);
  int32_t number(std::string_view symbol) const;
  int32_t number_of_last(std::string_view symbol) const;
  const Merge* merge(int32_t first, int32_t second) const;
  size_t size_of_left_half(std::string_view symbol, bool ends_word) const;
  void take_apart(std::string_view symbol, bool ends_word, const IsKnownSymbol& is_known,
                  std::vector<std::string_view>& parts) const;

  bool end_is_a_symbol_;  // version 0.1
  std::deque<std::string> symbols_;
  std::unordered_map<std::string_view, int32_t> numbers_;
  std::vector<std::pair<int32_t, int32_t>> codes_;
  std::unordered_map<uint64_t, Merge> merges_;
  std::unordered_map<int32_t, int32_t> left_halves_;  // of a merged symbol
};

// Cuts the words of a line, which blanks separate; blanks before and after stay. Without `is_known`, symbols
// are what the codes make.
std::string apply_bpe(const BpeCodes& codes, std::string_view line, const IsKnownSymbol& is_known = nullptr);

// Joins the symbols of each word again.
std::string undo_bpe(std::string_view line);

// What stands between words, for subword-nmt: blanks and line breaks, and no tabs.
inline constexpr std::string_view kBpeBlanks = " \r\n";

// Calls f with each word of a line.
template <class F>
void for_each_bpe_word(std::string_view line, const F& f) {
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(kBpeBlanks), line.size()));
    if (line.empty()) return;
    const std::string_view word = line.substr(0, line.find_first_of(kBpeBlanks));
    f(word);
    line.remove_prefix(word.size());
  }
}

}  // namespace mega
