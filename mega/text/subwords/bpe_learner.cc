#include "mega/text/subwords/bpe_learner.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <vector>

#include "mega/base/utf8.h"
#include "mega/text/subwords/bpe_codes.h"

namespace mega {
namespace {

// Counts of all pairs of neighbours, of which the frequent ones are listed: the most frequent is looked for
// among those. This is how learn_bpe.py prunes its statistics, to the letter, for it is not without effect: a
// symbol that two different merges make lets the count of a pair grow after it left the list, and the count
// that was put aside is then overwritten.
class PairCounts {
 public:
  using Pair = std::pair<int32_t, int32_t>;

  // The pair's number.
  int32_t find(Pair pair) {
    const uint64_t key =
        uint64_t{static_cast<uint32_t>(pair.first)} << 32 | static_cast<uint32_t>(pair.second);
    const auto [found, is_new] = numbers_.try_emplace(key, static_cast<int32_t>(entries_.size()));
    if (is_new) entries_.push_back({pair});
    return found->second;
  }

  Pair pair(int32_t number) const { return entry(number).pair; }
  int64_t count(int32_t number) const { return entry(number).count; }
  const std::vector<int32_t>& listed() const { return listed_; }

  void add(int32_t number, int64_t change) {
    list(number);
    entry(number).count += change;
  }

  void reset(int32_t number) {
    list(number);
    entry(number).count = 0;
  }

  // Puts aside all counts as they are.
  void keep_all() {
    for (Entry& entry : entries_) {
      entry.aside = entry.count;
      entry.is_aside = true;
    }
  }

  // Takes pairs that are rarer off the list.
  void prune(double threshold) {
    std::erase_if(listed_, [&](int32_t number) {
      Entry& entry = this->entry(number);
      if (static_cast<double>(entry.count) >= threshold) return false;
      entry.aside = entry.count < 0 ? entry.aside + entry.count : entry.count;
      entry.is_aside = true;
      entry.is_listed = false;
      entry.count = 0;
      return true;
    });
  }

  // Lists all that was put aside, in place of what is listed.
  void restore() {
    listed_.clear();
    for (size_t i = 0; i < entries_.size(); ++i) {
      Entry& entry = entries_[i];
      entry.count = entry.aside;
      entry.is_listed = entry.is_aside;
      if (entry.is_listed) listed_.push_back(static_cast<int32_t>(i));
    }
  }

 private:
  struct Entry {
    Pair pair;
    int64_t count = 0;
    int64_t aside = 0;
    bool is_listed = false;
    bool is_aside = false;
  };

  Entry& entry(int32_t number) { return entries_[static_cast<size_t>(number)]; }
  const Entry& entry(int32_t number) const { return entries_[static_cast<size_t>(number)]; }

  void list(int32_t number) {
    if (entry(number).is_listed) return;
    entry(number).is_listed = true;
    listed_.push_back(number);
  }

  std::unordered_map<uint64_t, int32_t> numbers_;
  std::vector<Entry> entries_;
  std::vector<int32_t> listed_;
};

class BpeLearner {
 public:
  explicit BpeLearner(std::span<const CountedWord> words) {
    for (const auto& [word, count] : words)
      if (!word.empty()) add_word(word, count);
    for (size_t i = 0; i < words_.size(); ++i)
      for (size_t at = 0; at + 1 < words_[i].symbols.size(); ++at) add_pair(i, words_[i].symbols, at, 1);
    counts_.keep_all();
  }

  std::string learn(int64_t merges, int64_t min_frequency) {
    std::string codes = "#version: 0.2\n";
    if (counts_.listed().empty()) return codes;
    double threshold = static_cast<double>(counts_.count(most_frequent())) / 10;
    for (int64_t i = 0; i < merges; ++i) {
      int32_t best = counts_.listed().empty() ? -1 : most_frequent();
      if (best < 0 || (i > 0 && static_cast<double>(counts_.count(best)) < threshold)) {
        counts_.prune(threshold);
        counts_.restore();
        best = most_frequent();
        const auto done = static_cast<double>(i);
        threshold = static_cast<double>(counts_.count(best)) * done / (done + 10000.0);
        counts_.prune(threshold);
      }
      if (counts_.count(best) < min_frequency) break;
      const auto [first, second] = counts_.pair(best);
      (((codes += symbol(first)) += ' ') += symbol(second)) += '\n';
      merge(best);
      if (i % 100 == 0) counts_.prune(threshold);
    }
    return codes;
  }

 private:
  using Symbols = std::vector<int32_t>;

  struct Word {
    Symbols symbols;
    int64_t count;
  };

  // That a pair stands so many times more, or fewer, in a word.
  struct Change {
    size_t word;
    int32_t times;
  };

  const std::string& symbol(int32_t number) const { return symbols_[static_cast<size_t>(number)]; }

  int32_t number_of(std::string symbol) {
    if (const auto found = symbol_numbers_.find(symbol); found != symbol_numbers_.end()) return found->second;
    symbols_.push_back(std::move(symbol));
    return symbol_numbers_[symbols_.back()] = static_cast<int32_t>(symbols_.size()) - 1;
  }

  void add_word(std::string_view word, int64_t count) {
    Symbols symbols;
    while (!word.empty()) {
      const size_t size = first_character(word).length;
      std::string character(word.substr(0, size));
      if (size == word.size()) character += kEndOfWord;
      symbols.push_back(number_of(std::move(character)));
      word.remove_prefix(size);
    }
    words_.push_back({std::move(symbols), count});
  }

  void add_pair(size_t word, const Symbols& symbols, size_t at, int32_t times) {
    const int32_t pair = counts_.find({symbols[at], symbols[at + 1]});
    counts_.add(pair, times * words_[word].count);
    if (static_cast<size_t>(pair) >= places_.size()) places_.resize(static_cast<size_t>(pair) + 1);
    places_[static_cast<size_t>(pair)].push_back({word, times});
  }

  // Of equally frequent pairs, the one with the greatest symbols by code points, which is the order of bytes.
  int32_t most_frequent() const {
    const auto is_less = [this](int32_t a, int32_t b) {
      if (counts_.count(a) != counts_.count(b)) return counts_.count(a) < counts_.count(b);
      const auto [a_first, a_second] = counts_.pair(a);
      const auto [b_first, b_second] = counts_.pair(b);
      return a_first != b_first ? symbol(a_first) < symbol(b_first) : symbol(a_second) < symbol(b_second);
    };
    return *std::max_element(counts_.listed().begin(), counts_.listed().end(), is_less);
  }

  // The words that a pair stands in.
  std::vector<size_t> words_with(int32_t pair) {
    std::vector<Change> changes = std::move(places_[static_cast<size_t>(pair)]);
    places_[static_cast<size_t>(pair)].clear();
    std::sort(changes.begin(), changes.end(),
              [](const Change& a, const Change& b) { return a.word < b.word; });
    std::vector<size_t> words;
    for (size_t i = 0; i < changes.size();) {
      const size_t word = changes[i].word;
      int64_t times = 0;
      for (; i < changes.size() && changes[i].word == word; ++i) times += changes[i].times;
      if (times > 0) words.push_back(word);
    }
    return words;
  }

  void merge(int32_t best) {
    const auto [first, second] = counts_.pair(best);
    const int32_t merged = number_of(symbol(first) + symbol(second));
    counts_.reset(best);
    for (const size_t word : words_with(best)) {
      remove_pairs_around(word, first, second);
      replace(words_[word].symbols, first, second, merged);
      add_pairs_around(word, merged);
    }
    counts_.reset(best);
  }

  static void replace(Symbols& symbols, int32_t first, int32_t second, int32_t merged) {
    size_t to = 0;
    for (size_t from = 0; from < symbols.size(); ++from, ++to) {
      const bool is_pair = symbols[from] == first && from + 1 < symbols.size() && symbols[from + 1] == second;
      symbols[to] = is_pair ? merged : symbols[from];
      if (is_pair) ++from;
    }
    symbols.resize(to);
  }

  // What the pair's neighbours made with it is there no longer.
  void remove_pairs_around(size_t word, int32_t first, int32_t second) {
    const Symbols& symbols = words_[word].symbols;
    const auto is_pair = [&](size_t at) {
      return at + 1 < symbols.size() && symbols[at] == first && symbols[at + 1] == second;
    };
    for (size_t at = 0; at + 1 < symbols.size(); ++at) {
      if (!is_pair(at)) continue;
      if (at > 0) add_pair(word, symbols, at - 1, -1);
      // Where the pair follows at once, it takes this one away itself.
      if (at + 2 < symbols.size() && !is_pair(at + 2)) add_pair(word, symbols, at + 1, -1);
      ++at;
    }
  }

  void add_pairs_around(size_t word, int32_t merged) {
    const Symbols& symbols = words_[word].symbols;
    for (size_t at = 0; at < symbols.size(); ++at) {
      if (symbols[at] != merged) continue;
      if (at > 0) add_pair(word, symbols, at - 1, 1);
      if (at + 1 < symbols.size() && symbols[at + 1] != merged) add_pair(word, symbols, at, 1);
    }
  }

  std::deque<std::string> symbols_;
  std::unordered_map<std::string_view, int32_t> symbol_numbers_;
  std::vector<Word> words_;
  PairCounts counts_;
  std::vector<std::vector<Change>> places_;  // by pair
};

}  // namespace

std::string learn_bpe_codes(std::span<const CountedWord> words, int64_t merges, int64_t min_frequency) {
  return BpeLearner(words).learn(merges, min_frequency);
}

}  // namespace mega
