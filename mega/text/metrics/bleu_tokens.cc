#include "mega/text/metrics/bleu_tokens.h"

#include "mega/base/utf8.h"
#include "mega/text/metrics/words.h"
#include "mega/text/unicode/unicode_classes.h"

namespace mega {
namespace {

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  size_t found = text.find(what);
  if (found == std::string::npos) return;
  std::string result;
  size_t begin = 0;
  for (; found != std::string::npos; found = text.find(what, begin)) {
    result.append(text, begin, found - begin) += by;
    begin = found + what.size();
  }
  text = result.append(text, begin);
}

// Replaces neighbours a, b that match, left to right: after a match the search goes on behind it, as regular
// expressions do, so that b is never the a of the next one. `write` appends what they become.
template <class Text, class First, class Second, class Write>
Text replace_pairs(const Text& text, const First& is_first, const Second& is_second, const Write& write) {
  Text result;
  result.reserve(text.size() + text.size() / 4);
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && is_first(text[i]) && is_second(text[i + 1])) {
      write(result, text[i], text[i + 1]);
      ++i;
    } else {
      result += text[i];
    }
  }
  return result;
}

// What replace_pairs makes of a pair: the mark gets space around it, its neighbour stays where it is.
constexpr auto kMarkSecond = [](auto& result, auto a, auto mark) {
  result += a;
  result += ' ';
  result += mark;
  result += ' ';
};
constexpr auto kMarkFirst = [](auto& result, auto mark, auto b) {
  result += ' ';
  result += mark;
  result += ' ';
  result += b;
};

template <class Text, class Predicate>
Text with_space_around(const Text& text, const Predicate& is_mark_of) {
  Text result;
  result.reserve(text.size() + text.size() / 4);
  for (const auto c : text) {
    if (is_mark_of(c)) {
      result += ' ';
      result += c;
      result += ' ';
    } else {
      result += c;
    }
  }
  return result;
}

// Punctuation and symbols of ASCII, without apostrophe, comma, hyphen and full stop.
bool is_13a_mark(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
         (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_no_digit(char c) { return !is_digit(c); }
bool is_comma_or_stop(char c) { return c == '.' || c == ','; }
bool is_hyphen(char c) { return c == '-'; }

// All that it looks for is ASCII, so bytes will do.
std::string tokenized_13a(std::string line) {
  replace_all(line, "<skipped>", "");
  replace_all(line, "-\n", "");
  replace_all(line, "\n", " ");
  replace_all(line, "&quot;", "\"");
  replace_all(line, "&amp;", "&");
  replace_all(line, "&lt;", "<");
  replace_all(line, "&gt;", ">");
  line = with_space_around(" " + line + " ", is_13a_mark);
  // Commas and full stops that are not inside a number; hyphens after a digit.
  line = replace_pairs(line, is_no_digit, is_comma_or_stop, kMarkSecond);
  line = replace_pairs(line, is_comma_or_stop, is_no_digit, kMarkFirst);
  return replace_pairs(line, is_digit, is_hyphen, kMarkSecond);
}

std::u32string points_of(std::string_view text) {
  std::u32string points;
  points.reserve(text.size());
  while (!text.empty()) {
    const Character next = first_character(text);
    points += next.point;
    text.remove_prefix(next.length);
  }
  return points;
}

bool is_no_number(char32_t point) { return !is_number(point); }

// A number at the end of a line keeps its full stop: nothing follows the mark. So does the original.
std::string tokenized_intl(std::string_view line) {
  std::u32string points = points_of(line);
  points = replace_pairs(points, is_no_number, is_punctuation, kMarkSecond);
  points = replace_pairs(points, is_punctuation, is_no_number, kMarkFirst);
  std::string result;
  for (const char32_t point : with_space_around(points, is_symbol)) append_utf8(result, point);
  return result;
}

std::string tokenized_characters(std::string_view line) {
  std::string result;
  while (!line.empty()) {
    const size_t length = first_character(line).length;
    result += line.substr(0, length);
    result += ' ';
    line.remove_prefix(length);
  }
  return result;
}

// Python's str.rstrip().
std::string_view without_space_at_end(std::string_view line) {
  const std::vector<std::string_view> words = split_words(line);
  if (words.empty()) return {};
  return line.substr(0, static_cast<size_t>(words.back().data() + words.back().size() - line.data()));
}

}  // namespace

std::string bleu_tokenized(std::string_view line, BleuTokens kind) {
  if (kind == BleuTokens::multi_bleu) return std::string(line);
  const std::string valid = valid_utf8(line);
  const std::string_view text = without_space_at_end(valid);
  switch (kind) {
    case BleuTokens::v13a:
      return tokenized_13a(std::string(text));
    case BleuTokens::intl:
      return tokenized_intl(text);
    case BleuTokens::characters:
      return tokenized_characters(text);
    default:
      return std::string(text);
  }
}

std::string split_compounds(std::string_view line) {
  std::string result;
  for (size_t i = 0; i < line.size(); ++i) {
    if (i + 2 < line.size() && !is_ascii_space(line[i]) && line[i + 1] == '-' &&
        !is_ascii_space(line[i + 2])) {
      result += line[i];
      result += " ##AT##-##AT## ";
      result += line[i + 2];
      i += 2;
    } else {
      result += line[i];
    }
  }
  return result;
}

}  // namespace mega
