#include "mega/text/punctuation.h"

#include <algorithm>
#include <array>

namespace mega {
namespace {

constexpr std::string_view kNoBreak = "\u00A0";

bool is_digit(char c) { return '0' <= c && c <= '9'; }
bool is_ascii_letter(char c) { return ('a' <= (c | 0x20)) && ((c | 0x20) <= 'z'); }

bool is_one_of(std::string_view language, std::initializer_list<std::string_view> languages) {
  return std::find(languages.begin(), languages.end(), language) != languages.end();
}

// A line that is changed step by step, with its line break: some rules look at what follows a mark.
class Line {
 public:
  explicit Line(std::string_view text) : text_(text) { text_ += '\n'; }

  std::string_view text() const { return std::string_view(text_).substr(0, text_.size() - 1); }

  Line& replace(std::string_view from, std::string_view to) {
    return change(
        from, [&](size_t) { return true; }, to);
  }

  // Where the bytes before and after are such.
  template <class Before, class After>
  Line& replace_between(const Before& before, std::string_view from, const After& after,
                        std::string_view to) {
    return change(
        from,
        [&](size_t at) {
          return at > 0 && before(text_[at - 1]) && at + from.size() < text_.size() &&
                 after(text_[at + from.size()]);
        },
        to);
  }

  Line& single_blanks() {
    const auto both_blank = [](char a, char b) { return a == ' ' && b == ' '; };
    text_.erase(std::unique(text_.begin(), text_.end(), both_blank), text_.end());
    return *this;
  }

  // `marks`, as many as there are, change places with the quotation mark before them.
  void move_marks_before_quote(std::string_view marks) {
    std::string result;
    for (size_t at = 0; at < text_.size();) {
      const bool is_quote = text_[at] == '"';
      const size_t end = is_quote ? std::min(text_.find_first_not_of(marks, at + 1), text_.size()) : at + 1;
      result += text_.substr(at + 1, end - at - 1);
      result += text_[at];
      at = end;
    }
    text_ = std::move(result);
  }

  // Full stops change places with the quotation mark after them, unless "<" or nothing follows.
  void move_stops_after_quote() {
    std::string result;
    for (size_t at = 0; at < text_.size();) {
      const size_t stops = std::min(text_.find_first_not_of('.', at), text_.size()) - at;
      if (stops == 0) {
        result += text_[at++];
        continue;
      }
      at += stops;
      const size_t following = at < text_.size() && text_[at] == '"' ? count_following(at + 1) : 0;
      if (following > 0) result += text_[at++];
      result.append(stops, '.') += text_.substr(at, following);
      at += following;
    }
    text_ = std::move(result);
  }

 private:
  template <class Matches>
  Line& change(std::string_view from, const Matches& matches, std::string_view to) {
    std::string result;
    size_t copied = 0;
    for (size_t at = text_.find(from); at != std::string::npos;) {
      const bool is_match = matches(at);
      if (is_match) {
        (result += std::string_view(text_).substr(copied, at - copied)) += to;
        copied = at + from.size();
      }
      at = text_.find(from, at + (is_match ? from.size() : 1));
    }
    if (copied > 0) text_ = result += std::string_view(text_).substr(copied);
    return *this;
  }

  // Blanks, and a byte that is no "<".
  size_t count_following(size_t at) const {
    const size_t next = std::min(text_.find_first_not_of(" \t\n\v\f\r", at), text_.size());
    return next - at + (next < text_.size() && text_[next] != '<' ? 1 : 0);
  }

  std::string text_;
};

void normalize_blanks(Line& line) {
  line.replace("\r", "").replace("(", " (").replace(")", ") ").single_blanks();
  for (const std::string_view mark : {".", "!", ":", "?", ";", ","})
    line.replace(") " + std::string(mark), ")" + std::string(mark));
  line.replace("( ", "(").replace(" )", ")");
  const auto any = [](char) { return true; };
  line.replace_between(is_digit, " %", any, "%").replace(" :", ":").replace(" ;", ";");
}

void normalize_quotes(Line& line) {
  line.replace("`", "'").replace("''", " \" ");
  for (const std::string_view quote : {"„", "“", "”"}) line.replace(quote, "\"");
  line.replace("–", "-").replace("—", " - ").single_blanks().replace("´", "'");
  for (const std::string_view quote : {"‘", "’"})
    line.replace_between(is_ascii_letter, quote, is_ascii_letter, "'");
  line.replace("‘", "'").replace("‚", "'").replace("’", "\"").replace("''", "\"").replace("…", "...");
  const std::string blank(kNoBreak);
  line.replace(blank + "«" + blank, " \"").replace("«" + blank, "\"").replace("«", "\"");
  line.replace(blank + "»" + blank, "\" ").replace(blank + "»", "\"").replace("»", "\"");
}

void normalize_no_break_blanks(Line& line) {
  const std::string blank(kNoBreak);
  line.replace(blank + "%", "%").replace("nº" + blank, "nº ").replace(blank + ":", ":");
  line.replace(blank + "ºC", " ºC").replace(blank + "cm", " cm").replace(blank + "?", "?");
  line.replace(blank + "!", "!").replace(blank + ";", ";").replace("," + blank, ", ").single_blanks();
}

}  // namespace

std::string normalize_punctuation(std::string_view text, std::string_view language) {
  Line line(text);
  normalize_blanks(line);
  normalize_quotes(line);
  normalize_no_break_blanks(line);
  if (language == "en") {
    line.move_marks_before_quote(",.");
  } else if (!is_one_of(language, {"cs", "cz"})) {
    line.replace(",\"", "\",");
    line.move_stops_after_quote();
  }
  const bool has_decimal_comma = is_one_of(language, {"de", "es", "cz", "cs", "fr"});
  line.replace_between(is_digit, kNoBreak, is_digit, has_decimal_comma ? "," : ".");
  return std::string(line.text());
}

}  // namespace mega
