#include "mega/report/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "mega/base/strings.h"
#include "mega/base/utf8.h"

namespace mega {
namespace {

bool quiet = false;

// From the environment; 0: it does not say.
int64_t columns_variable() {
  constexpr int64_t kLargest = 10'000;
  const char* text = std::getenv("COLUMNS");
  if (text == nullptr) return 0;
  const std::string_view digits = text;
  int64_t columns = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), columns);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  return whole && columns > 0 ? std::min(columns, kLargest) : 0;
}

// Appends a line without line breaks.
void wrap_line(std::string_view text, int64_t width, std::vector<std::string>& lines) {
  std::string line;
  size_t gap = 0;  // spaces before the word
  bool begun = false;
  for (const std::string& whole : split(text, ' ')) {
    if (whole.empty()) {
      ++gap;
      continue;
    }
    std::string_view word = whole;
    const std::string space(begun ? gap + 1 : gap, ' ');
    gap = 0;
    if (display_width(line) + std::ssize(space) + display_width(word) <= width) {
      line += space;
      line += word;
      begun = true;
      continue;
    }
    if (begun) lines.push_back(std::exchange(line, {}));
    begun = true;
    while (display_width(word) > width) {
      std::string_view piece = prefix_of_width(word, width);
      if (piece.empty()) piece = word.substr(0, first_character(word).length);  // wider than a line
      lines.emplace_back(piece);
      word.remove_prefix(piece.size());
    }
    line = word;
  }
  if (!line.empty() || !begun) lines.push_back(std::move(line));
}

}  // namespace

void be_quiet() { quiet = true; }

bool is_quiet() { return quiet; }

bool is_terminal(std::FILE* file) { return ::isatty(::fileno(file)) == 1; }

int64_t terminal_width(std::FILE* file) {
  constexpr int64_t kUsual = 80;
  winsize size{};
  if (is_terminal(file) && ::ioctl(::fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  const int64_t columns = columns_variable();
  return columns > 0 ? columns : kUsual;
}

std::string_view prefix_of_width(std::string_view text, int64_t width) {
  size_t end = 0;
  while (end < text.size()) {
    const std::string_view character = text.substr(end, first_character(text.substr(end)).length);
    width -= display_width(character);
    if (width < 0) break;
    end += character.size();
  }
  return text.substr(0, end);
}

std::string for_terminal(const std::string& line, std::FILE* file, int64_t indent) {
  const int64_t width = terminal_width(file);
  if (!is_terminal(file) || display_width(line) <= width) return line;
  const std::string first = wrap(line, width).front();
  std::string text = first;
  const std::string margin(static_cast<size_t>(std::clamp<int64_t>(indent, 0, width / 2)), ' ');
  const std::string rest(trim(std::string_view(line).substr(first.size())));
  for (const std::string& more : wrap(rest, width - std::ssize(margin))) text += "\n" + margin + more;
  return text;
}

std::vector<std::string> wrap(std::string_view text, int64_t width) {
  std::vector<std::string> lines;
  for (const std::string& line : split(text, '\n')) wrap_line(line, std::max<int64_t>(width, 1), lines);
  return lines;
}

}  // namespace mega
