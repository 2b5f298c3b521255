#include "mega/text/moses_detokenizer.h"

#include <algorithm>
#include <map>
#include <vector>

#include "mega/text/moses_tokenizer.h"
#include "mega/text/unicode/code_points.h"
#include "mega/text/unicode/unicode_classes.h"

namespace mega {
namespace {

template <class Is>
bool all_are(std::u32string_view word, const Is& is) {
  return !word.empty() && std::all_of(word.begin(), word.end(), is);
}

bool all_of(std::u32string_view word, std::u32string_view marks) {
  return all_are(word, [&](char32_t point) { return marks.find(point) != std::u32string_view::npos; });
}

bool opens(std::u32string_view word) {
  return all_are(word, [](char32_t point) {
    return is_currency(point) || std::u32string_view(U"([{¿¡").find(point) != std::u32string_view::npos;
  });
}

bool is_digits(std::u32string_view word) {
  return all_are(word, [](char32_t point) { return '0' <= point && point <= '9'; });
}

bool starts_with_letter(std::u32string_view word) { return !word.empty() && is_alphabetic(word[0]); }
bool ends_with_letter(std::u32string_view word) { return !word.empty() && is_alphabetic(word.back()); }

// "'s", "'ll"
bool is_english_ending(std::u32string_view word) {
  return word.size() > 1 && word[0] == '\'' && is_alphabetic(word[1]);
}

// "l'", "aujourd'"
bool is_elision(std::u32string_view word) {
  return word.ends_with(U'\'') && ends_with_letter(word.substr(0, word.size() - 1));
}

// What Czech writes after a hyphen: "je-li", "e-mail".
bool follows_czech_hyphen(std::u32string_view word) {
  std::u32string lower(word);
  std::transform(lower.begin(), lower.end(), lower.begin(), to_lower);
  return lower == U"li" || lower.starts_with(U"mail");
}

// The line in progress. A blank goes before a word unless it or the one before it attaches.
class Joiner {
 public:
  Joiner(std::vector<std::u32string> words, std::string_view language)
      : words_(std::move(words)), language_(language) {}

  std::u32string join() {
    for (at_ = 0; at_ < words_.size(); ++at_) add(words_[at_]);
    return single_blanks(text_);
  }

 private:
  void add(std::u32string_view word) {
    const std::u32string_view previous = before(1);
    if (!word.empty() && is_cjk(word[0])) {
      attach(word, !previous.empty() && is_cjk(previous.back()), false);
    } else if (opens(word)) {
      attach(word, false, true);
    } else if (all_of(word, U",.?!:;\\%}])")) {
      if (language_ == "fr" && word.size() == 1 && all_of(word, U"?!:;\\%")) text_ += ' ';
      attach(word, true, false);
    } else if (language_ == "en" && is_english_ending(word) && !previous.empty() &&
               is_alnum(previous.back())) {
      attach(word, true, false);
    } else if (language_ == "cs" && is_digits(word) && is_digits(before(2)) &&
               (previous == U"." || previous == U",")) {
      attach(word, true, false);
    } else if ((language_ == "fr" || language_ == "it") && is_elision(word) && starts_with_letter(after(1))) {
      attach(word, false, true);
    } else if (language_ == "cs" && at_ + 3 < words_.size() && ends_with_letter(word) &&
               (after(1) == U"-" || after(1) == U"–") && follows_czech_hyphen(after(2))) {
      attach(word, false, true);
      text_ += words_[++at_];
    } else if (all_of(word, U"'\"„“`")) {
      add_quote(word, previous);
    } else {
      attach(word, false, false);
    }
  }

  // Quotation marks open and close by turns.
  void add_quote(std::u32string_view word, std::u32string_view previous) {
    int& count = quotes_[all_of(word, U"„“”") ? U"\"" : std::u32string(word)];
    if (language_ == "cs" && word == U"„") count = 0;
    if (language_ == "cs" && word == U"“") count = 1;
    const bool opens_quote = count % 2 == 0;
    if (opens_quote && language_ == "en" && word == U"'" && previous.ends_with(U's')) {
      attach(word, true, false);  // the Joneses' house
      return;
    }
    attach(word, !opens_quote, opens_quote);
    ++count;
  }

  void attach(std::u32string_view word, bool to_previous, bool next_to_it) {
    if (!to_previous && !next_attaches_) text_ += ' ';
    text_ += word;
    next_attaches_ = next_to_it;
  }

  std::u32string_view before(size_t n) const {
    return at_ >= n ? std::u32string_view(words_[at_ - n]) : std::u32string_view();
  }
  std::u32string_view after(size_t n) const {
    return at_ + n < words_.size() ? std::u32string_view(words_[at_ + n]) : std::u32string_view();
  }

  const std::vector<std::u32string> words_;
  const std::string_view language_;
  size_t at_ = 0;
  std::u32string text_;
  bool next_attaches_ = false;
  std::map<std::u32string, int> quotes_;
};

// " @-@ " is a hyphen within a word.
std::u32string with_hyphens(std::u32string_view text) {
  constexpr std::u32string_view kHyphen = U" @-@ ";
  return substitute(text, [&](std::u32string_view rest, std::u32string& result) -> size_t {
    if (!rest.starts_with(kHyphen)) return 0;
    result += '-';
    return kHyphen.size();
  });
}

}  // namespace

std::string moses_detokenize(std::string_view line, std::string_view language) {
  const std::u32string text =
      code_points(moses_unescape(utf8_of(with_hyphens(U" " + code_points(line) + U" "))));
  std::vector<std::u32string> words;
  for (std::u32string_view rest = text; !rest.empty();) {
    const size_t blank = std::min(rest.find(U' '), rest.size());
    words.emplace_back(rest.substr(0, blank));
    rest.remove_prefix(std::min(blank + 1, rest.size()));
  }
  return utf8_of(Joiner(std::move(words), language).join());
}

}  // namespace mega
