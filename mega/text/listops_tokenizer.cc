#include "mega/text/listops_tokenizer.h"

#include <algorithm>
#include <array>

#include "mega/base/error.h"
#include "mega/text/dictionary.h"

namespace mega {
namespace {

constexpr std::array<std::string_view, 15> kWords = {"0", "1", "2", "3",    "4",    "5",    "6",  "7",
                                                     "8", "9", "]", "[MAX", "[MED", "[MIN", "[SM"};

// Calls f with each word.
template <class F>
void for_each_word(std::string_view text, const F& f) {
  constexpr std::string_view kBetween = " \t\r\n()";
  size_t begin = text.find_first_not_of(kBetween);
  while (begin != std::string_view::npos) {
    const size_t end = std::min(text.find_first_of(kBetween, begin), text.size());
    f(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBetween, end);
  }
}

class ListOpsTokenizer final : public Tokenizer {
 public:
  ListOpsTokenizer() : words_(kWords.begin(), kWords.end()) {}
  ListOpsTokenizer(std::string_view vocabulary, const std::string& where)
      : vocabulary_(vocabulary), words_(lines_of(vocabulary)) {
    require(is_listops_vocabulary(vocabulary) && vocabulary.ends_with('\n'), where,
            ": listops need no vocabulary but that of an imported model: their words, one per line");
  }

  int64_t size() const override { return kFirstSymbol + std::ssize(words_); }

  void encode_line(std::string_view line, std::vector<Token>& tokens) const override {
    for_each_word(line, [&](std::string_view word) {
      const auto found = std::find(words_.begin(), words_.end(), word);
      tokens.push_back(found == words_.end() ? kUnknown
                                             : kFirstSymbol + static_cast<Token>(found - words_.begin()));
    });
  }

  std::string vocabulary() const override { return vocabulary_; }

 protected:
  std::string symbol_text(Token token, bool begins_line) const override {
    const std::string word(token == kUnknown ? "<unk>" : words_[static_cast<size_t>(token - kFirstSymbol)]);
    return begins_line ? word : " " + word;
  }

  size_t count_text(std::string_view text, size_t /*most*/) const override {
    size_t count = 0;
    for_each_word(text, [&](std::string_view) { ++count; });
    return count;
  }

 private:
  const std::string vocabulary_;  // empty: the usual order
  const std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_listops_tokenizer(std::string_view vocabulary, const std::string& where) {
  return std::make_unique<ListOpsTokenizer>(vocabulary, where);
}

bool is_listops_vocabulary(std::string_view vocabulary) {
  const std::vector<std::string> symbols = lines_of(vocabulary);
  const auto is_word = [](const std::string& symbol) {
    return std::find(kWords.begin(), kWords.end(), symbol) != kWords.end();
  };
  return std::any_of(symbols.begin(), symbols.end(),
                     [](const std::string& symbol) { return symbol == "]"; }) &&
         std::all_of(symbols.begin(), symbols.end(),
                     [&](const std::string& symbol) { return is_word(symbol) || is_filling(symbol); });
}

std::unique_ptr<Tokenizer> make_listops_tokenizer() { return std::make_unique<ListOpsTokenizer>(); }

}  // namespace mega
