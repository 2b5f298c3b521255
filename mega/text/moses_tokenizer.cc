#include "mega/text/moses_tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "mega/text/abbreviations.h"
#include "mega/text/unicode/code_points.h"
#include "mega/text/unicode/unicode_classes.h"

namespace mega {
namespace {

// A full stop of several in a row, until the others have been dealt with: no code point of Unicode.
constexpr char32_t kOneOfSeveralStops = 0x110000;

// As Moses replaces them, one after the other.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kEscapes = {{{"&", "&amp;"},
                                                                                    {"|", "&#124;"},
                                                                                    {"<", "&lt;"},
                                                                                    {">", "&gt;"},
                                                                                    {"'", "&apos;"},
                                                                                    {"\"", "&quot;"},
                                                                                    {"[", "&#91;"},
                                                                                    {"]", "&#93;"}}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOldEscapes = {
    {{"|", "&bar;"}, {"[", "&bra;"}, {"]", "&ket;"}}};

// Blanks of all kinds are one; control characters go.
std::u32string without_junk(std::u32string_view text) {
  std::u32string result;
  for (const char32_t point : text) {
    if (is_space(point)) {
      result += ' ';
    } else if (point >= 0x20) {
      result += point;
    }
  }
  return single_blanks(result);
}

// Marks that never belong to a word.
bool stands_alone(char32_t point) {
  constexpr std::u32string_view kPerhapsInWords = U".'`,-";
  return !is_alnum(point) && !is_space(point) && kPerhapsInWords.find(point) == std::u32string_view::npos;
}

std::u32string with_marks_apart(std::u32string_view text) {
  return substitute(text, [](std::u32string_view rest, std::u32string& result) -> size_t {
    if (!stands_alone(rest[0])) return 0;
    ((result += ' ') += rest[0]) += ' ';
    return 1;
  });
}

std::u32string with_hyphens_apart(std::u32string_view text) {
  return substitute(text, [](std::u32string_view rest, std::u32string& result) -> size_t {
    if (rest.size() < 3 || !is_alnum(rest[0]) || rest[1] != '-' || !is_alnum(rest[2])) return 0;
    (result += rest[0]) += U" @-@ ";
    return 2;
  });
}

// Several full stops in a row are one token.
std::u32string with_stops_together(std::u32string_view text) {
  return substitute(text, [](std::u32string_view rest, std::u32string& result) -> size_t {
    const size_t stops = std::min(rest.find_first_not_of(U'.'), rest.size());
    if (stops < 2) return 0;
    (result += ' ').append(stops, kOneOfSeveralStops);
    if (stops < rest.size()) result += ' ';
    return stops;
  });
}

// Commas are apart unless they are within a number. Two passes, as one uses up what the other looks at.
std::u32string with_commas_apart(std::u32string_view text) {
  std::u32string result = substitute(text, [](std::u32string_view rest, std::u32string& changed) -> size_t {
    if (rest.size() < 2 || is_number(rest[0]) || rest[1] != ',') return 0;
    (changed += rest[0]) += U" , ";
    return 2;
  });
  result = substitute(result, [](std::u32string_view rest, std::u32string& changed) -> size_t {
    if (rest.size() < 2 || rest[0] != ',' || is_number(rest[1])) return 0;
    (changed += U" , ") += rest[1];
    return 2;
  });
  if (result.size() >= 2 && result.ends_with(U',') && is_number(result[result.size() - 2]))
    result.insert(result.size() - 1, U" ");
  return result;
}

using Is = bool (*)(char32_t);

bool is_not_alphabetic(char32_t point) { return !is_alphabetic(point); }
bool is_neither(char32_t point) { return !is_alphabetic(point) && !is_number(point); }
bool is_small_s(char32_t point) { return point == 's'; }

// What stands in place of an apostrophe between two such characters.
std::u32string with_apostrophes(std::u32string_view text, Is before, Is after, std::u32string_view mark) {
  return substitute(text, [&](std::u32string_view rest, std::u32string& result) -> size_t {
    if (rest.size() < 3 || rest[1] != '\'' || !before(rest[0]) || !after(rest[2])) return 0;
    ((result += rest[0]) += mark) += rest[2];
    return 3;
  });
}

std::u32string with_apostrophes_apart(std::u32string text, std::string_view language) {
  constexpr std::array kAsFrench = {"fr", "it", "ga", "ca"};
  if (language == "en") {
    text = with_apostrophes(text, is_not_alphabetic, is_not_alphabetic, U" ' ");
    text = with_apostrophes(text, is_neither, is_alphabetic, U" ' ");
    text = with_apostrophes(text, is_alphabetic, is_not_alphabetic, U" ' ");
    text = with_apostrophes(text, is_alphabetic, is_alphabetic, U" '");  // it 's
    return with_apostrophes(text, is_number, is_small_s, U" '");         // the 1990 's
  }
  if (std::find(kAsFrench.begin(), kAsFrench.end(), language) != kAsFrench.end()) {
    text = with_apostrophes(text, is_not_alphabetic, is_not_alphabetic, U" ' ");
    text = with_apostrophes(text, is_not_alphabetic, is_alphabetic, U" ' ");
    text = with_apostrophes(text, is_alphabetic, is_not_alphabetic, U" ' ");
    return with_apostrophes(text, is_alphabetic, is_alphabetic, U"' ");  // l' eau
  }
  return substitute(text, [](std::u32string_view rest, std::u32string& result) -> size_t {
    if (rest[0] != '\'') return 0;
    result += U" ' ";
    return 1;
  });
}

// Every blank separates: two of them have an empty word between them, which begins with nothing.
std::vector<std::u32string_view> words_of(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  while (true) {
    const size_t blank = text.find(U' ');
    words.push_back(text.substr(0, blank));
    if (blank == std::u32string_view::npos) break;
    text.remove_prefix(blank + 1);
  }
  while (!words.empty() && words.back().empty()) words.pop_back();
  return words;
}

// Whether the full stop belongs to the word before it, which another one follows.
bool keeps_stop(std::u32string_view word, std::u32string_view next, std::string_view language) {
  if (word.find(U'.') != std::u32string_view::npos && std::any_of(word.begin(), word.end(), is_alphabetic))
    return true;
  if (!next.empty() && is_lower(next[0])) return true;
  const Abbreviation kind = abbreviation(utf8_of(word), language);
  const bool number_follows = !next.empty() && '0' <= next[0] && next[0] <= '9';
  return kind == Abbreviation::always || (kind == Abbreviation::before_number && number_follows);
}

std::u32string with_stops_apart(std::u32string_view text, std::string_view language) {
  const std::vector<std::u32string_view> words = words_of(text);
  std::u32string result;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::u32string_view word = words[i];
    const bool is_last = i + 1 == words.size();
    if (word.size() > 1 && word.back() == '.') {
      const std::u32string_view before = word.substr(0, word.size() - 1);
      result += before;
      if (is_last || !keeps_stop(before, words[i + 1], language)) result += ' ';
      result += '.';
    } else {
      result += word;
    }
    result += ' ';
  }
  result = single_blanks(result);
  if (result.ends_with(U".'")) result.replace(result.size() - 2, 2, U" . '");
  return single_blanks(result);
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  result.reserve(text.size());
  while (true) {
    const size_t at = text.find(from);
    result += text.substr(0, at);
    if (at == std::string_view::npos) return result;
    result += to;
    text.remove_prefix(at + from.size());
  }
}

}  // namespace

std::string moses_tokenize(std::string_view line, const MosesTokenization& how) {
  std::u32string text = with_marks_apart(without_junk(code_points(line)));
  if (how.split_hyphens) text = with_hyphens_apart(text);
  text = with_commas_apart(with_stops_together(text));
  text = with_stops_apart(with_apostrophes_apart(std::move(text), how.language), how.language);
  std::replace(text.begin(), text.end(), kOneOfSeveralStops, U'.');
  return how.escape ? moses_escape(utf8_of(text)) : utf8_of(text);
}

std::string moses_escape(std::string_view text) {
  std::string escaped(text);
  for (const auto& [plain, entity] : kEscapes) escaped = replace_all(escaped, plain, entity);
  return escaped;
}

std::string moses_unescape(std::string_view text) {
  std::string plain_text(text);
  for (const auto& [plain, entity] : kOldEscapes) plain_text = replace_all(plain_text, entity, plain);
  // The ampersand last, so that what it begins is not taken for an entity.
  for (size_t i = kEscapes.size(); i-- > 0;)
    plain_text = replace_all(plain_text, kEscapes[i].second, kEscapes[i].first);
  return plain_text;
}

}  // namespace mega
