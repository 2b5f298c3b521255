#include "mega/text/listops_tokenizer.h"

#include <algorithm>
#include <array>

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
  int64_t size() const override { return kFirstSymbol + std::ssize(kWords); }

  void encode_line(std::string_view line, std::vector<Token>& tokens) const override {
    for_each_word(line, [&](std::string_view word) {
      const auto found = std::find(kWords.begin(), kWords.end(), word);
      tokens.push_back(found == kWords.end() ? kUnknown
                                             : kFirstSymbol + static_cast<Token>(found - kWords.begin()));
    });
  }

  std::string vocabulary() const override { return ""; }

 protected:
  std::string symbol_text(Token token, bool begins_line) const override {
    const std::string word(token == kUnknown ? "<unk>" : kWords[static_cast<size_t>(token - kFirstSymbol)]);
    return begins_line ? word : " " + word;
  }

  size_t count_text(std::string_view text, size_t /*most*/) const override {
    size_t count = 0;
    for_each_word(text, [&](std::string_view) { ++count; });
    return count;
  }
};

}  // namespace

std::unique_ptr<Tokenizer> make_listops_tokenizer() { return std::make_unique<ListOpsTokenizer>(); }

}  // namespace mega
