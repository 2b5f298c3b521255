#include "mega/text/sentence_splitter.h"

#include <algorithm>

#include "mega/text/abbreviations.h"
#include "mega/text/unicode/code_points.h"
#include "mega/text/unicode/unicode_classes.h"

namespace mega {
namespace {

// Between sentences.
constexpr char32_t kBreak = '\n';

bool is_any_of(char32_t point, std::u32string_view marks) {
  return marks.find(point) != std::u32string_view::npos;
}

bool ends_sentence(char32_t point) { return is_any_of(point, U"?!."); }
bool can_open(char32_t point) { return is_any_of(point, U"'\"([¿¡") || is_opening_quote(point); }
bool can_close(char32_t point) { return is_any_of(point, U"'\")]") || is_closing_quote(point); }

// How many points at the begin of the text are such.
template <class Is>
size_t count_while(std::u32string_view text, const Is& is) {
  return static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is) - text.begin());
}

size_t count_blanks(std::u32string_view text) {
  return count_while(text, [](char32_t point) { return point == ' '; });
}

struct Start {
  size_t size = 0;  // through the capital letter; 0: no sentence starts here
  bool has_marks = false;
};

// Marks that open something and a capital letter; after marks, `blanks` may stand before it.
Start find_start(std::u32string_view text, bool blanks) {
  const size_t marks = count_while(text, can_open);
  const size_t letter = marks + (blanks ? count_blanks(text.substr(marks)) : 0);
  if (letter >= text.size() || !is_upper(text[letter])) return {};
  return {letter + 1, marks > 0};
}

// Breaks in place of the blanks between an end, of which `end_size(rest)` says how long it is, and a start.
template <class EndSize, class IsStart>
std::u32string break_after(std::u32string_view text, bool blanks, const EndSize& end_size,
                           const IsStart& is_start) {
  return substitute(text, [&](std::u32string_view rest, std::u32string& result) -> size_t {
    const size_t end = end_size(rest);
    if (end == 0) return 0;
    const size_t between = count_blanks(rest.substr(end));
    const Start start = between == 0 ? Start() : find_start(rest.substr(end + between), blanks);
    result += rest.substr(0, end);
    if (start.size == 0 || !is_start(start)) return end;
    (result += kBreak) += rest.substr(end + between, start.size);
    return end + between + start.size;
  });
}

std::u32string break_at_marks(std::u32string text) {
  const auto any = [](const Start&) { return true; };
  const auto question = [](std::u32string_view rest) -> size_t { return is_any_of(rest[0], U"?!") ? 1 : 0; };
  text = break_after(text, false, question, any);
  const auto several_stops = [](std::u32string_view rest) {
    const size_t stops = count_while(rest, [](char32_t point) { return point == '.'; });
    return stops > 1 ? stops : 0;
  };
  text = break_after(text, false, several_stops, any);
  const auto closed = [](std::u32string_view rest) -> size_t {
    if (!ends_sentence(rest[0])) return 0;
    const size_t blanks = 1 + count_blanks(rest.substr(1));
    const size_t marks = count_while(rest.substr(blanks), can_close);
    return marks > 0 ? blanks + marks : 0;
  };
  text = break_after(text, true, closed, any);
  const auto end = [](std::u32string_view rest) -> size_t { return ends_sentence(rest[0]) ? 1 : 0; };
  return break_after(text, true, end, [](const Start& start) { return start.has_marks; });
}

std::u32string break_after_ideographic_marks(std::u32string_view text) {
  return substitute(text, [](std::u32string_view rest, std::u32string& result) -> size_t {
    if (is_any_of(rest[0], U"。．？！♪")) {
      (result += rest[0]) += kBreak;
      return 1;
    }
    if (!ends_sentence(rest[0])) return 0;
    const size_t next = 1 + count_blanks(rest.substr(1));
    if (next >= rest.size() || !is_cjk(rest[next]) || !is_letter(rest[next])) return 0;
    ((result += rest[0]) += kBreak) += rest[next];
    return next + 1;
  });
}

bool is_of_prefix(char32_t point) { return is_alnum(point) || point == '.' || point == '-'; }

// Whether a sentence ends between two words, the first of which ends with a full stop.
bool breaks_between(std::u32string_view word, std::u32string_view next, std::string_view language) {
  const size_t before_stops = word.find_last_not_of(U'.') + 1;
  const char32_t last = before_stops == 0 ? U'.' : word[before_stops - 1];
  const bool is_closed = can_close(last) || last == '%';
  if (!is_closed) {
    std::u32string_view prefix = word.substr(0, word.size() - 1);
    prefix.remove_prefix(prefix.size() -
                         static_cast<size_t>(std::find_if_not(prefix.rbegin(), prefix.rend(), is_of_prefix) -
                                             prefix.rbegin()));
    const Abbreviation kind = abbreviation(utf8_of(prefix), language);
    const bool number_follows = '0' <= next[0] && next[0] <= '9';
    if (kind == Abbreviation::always || (kind == Abbreviation::before_number && number_follows)) return false;
  }
  if (before_stops > 0 && (is_upper(last) || last == '-')) return false;  // an acronym
  const size_t letter = count_while(next, can_open);
  return letter < next.size() && (is_upper(next[letter]) || ('0' <= next[letter] && next[letter] <= '9'));
}

std::u32string break_at_stops(std::u32string_view text, std::string_view language) {
  std::u32string result;
  while (true) {
    const size_t blank = text.find(U' ');
    const std::u32string_view word = text.substr(0, blank);
    result += word;
    if (blank == std::u32string_view::npos) return result;
    text.remove_prefix(blank + 1);
    const std::u32string_view next = text.substr(0, text.find(U' '));
    const bool is_end = word.ends_with(U'.') && !next.empty() && breaks_between(word, next, language);
    result += is_end ? kBreak : U' ';
  }
}

void split_paragraph(std::string_view paragraph, std::string_view language,
                     std::vector<std::string>& sentences) {
  std::u32string text = break_at_marks(single_blanks(code_points(paragraph)));
  if (language == "zh" || language == "yue" || language == "ja") text = break_after_ideographic_marks(text);
  text = break_at_stops(text, language);
  for (std::u32string_view rest = text; !rest.empty();) {
    const std::u32string_view sentence = rest.substr(0, rest.find(kBreak));
    rest.remove_prefix(std::min(rest.size(), sentence.size() + 1));
    if (std::string clean = utf8_of(single_blanks(sentence)); !clean.empty())
      sentences.push_back(std::move(clean));
  }
}

}  // namespace

std::vector<std::string> split_sentences(std::string_view text, std::string_view language) {
  std::vector<std::string> sentences;
  std::string paragraph;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::u32string points = code_points(line);
    if (!std::all_of(points.begin(), points.end(), is_space)) {
      (paragraph += line.substr(0, line.find_last_not_of('\r') + 1)) += ' ';
      continue;
    }
    split_paragraph(paragraph, language, sentences);
    paragraph.clear();
  }
  split_paragraph(paragraph, language, sentences);
  return sentences;
}

}  // namespace mega
