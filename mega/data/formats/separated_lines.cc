#include "mega/data/formats/separated_lines.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "mega/base/strings.h"
#include "mega/data/formats/csv.h"

namespace mega::data {
namespace {

constexpr size_t kLines = 20;  // that are read ahead, of not much more than so many bytes
constexpr size_t kBytes = size_t{1} << 20;

void divide_at(char delimiter, std::string_view line, std::vector<std::string_view>& cells) {
  cells.clear();
  if (delimiter == ' ') line = trim(line);
  while (true) {
    const size_t end = line.find(delimiter);
    std::string_view cell = trim(line.substr(0, end));
    if (cell.size() >= 2 && cell.starts_with('"') && cell.ends_with('"'))
      cell = cell.substr(1, cell.size() - 2);
    cells.push_back(cell);
    if (end == std::string_view::npos) return;
    line.remove_prefix(end + 1);
    if (delimiter == ' ') line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  }
}

bool parse(char delimiter, std::string_view text, double& number) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  std::string with_point;
  if (delimiter == ';' && text.size() < 64) {
    if (const size_t comma = text.find(','); comma != std::string_view::npos) {
      with_point = text;
      with_point[comma] = '.';
      text = with_point;
    }
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

SeparatedLines::SeparatedLines(const std::filesystem::path& path, std::string_view delimiter)
    : lines_(path), delimiter_(parse_delimiter(delimiter)) {
  size_t bytes = 0;
  for (Line line; ahead_.size() < kLines && bytes < kBytes && read(line);) {
    bytes += line.text.size();
    ahead_.push_back(std::move(line));
  }
  if (delimiter_ != 0) return;
  Fit best = {-1, 0};
  for (const char candidate : {',', '\t', ' ', ';', '|'}) {
    const Fit fit = fit_of(candidate);
    if (fit.numbers < best.numbers || (fit.numbers == best.numbers && fit.others >= best.others)) continue;
    best = fit;
    delimiter_ = candidate;
  }
}

SeparatedLines::Fit SeparatedLines::fit_of(char delimiter) const {
  Fit fit;
  std::vector<std::string_view> cells;
  for (const Line& line : ahead_) {
    divide_at(delimiter, line.text, cells);
    double number;
    const int64_t numbers = std::count_if(
        cells.begin(), cells.end(), [&](std::string_view cell) { return parse(delimiter, cell, number); });
    if (numbers == 0) continue;
    fit.numbers += numbers;
    fit.others += std::ssize(cells) - numbers;
  }
  return fit;
}

bool SeparatedLines::read(Line& line) {
  while (lines_.next(line.text)) {
    if (lines_.number() == 1 && line.text.starts_with("\xEF\xBB\xBF")) line.text.erase(0, 3);
    line.number = lines_.number();
    if (!trim(line.text).empty()) return true;
  }
  return false;
}

bool SeparatedLines::next(std::string& line) {
  Line read_now;
  if (!ahead_.empty()) {
    read_now = std::move(ahead_.front());
    ahead_.pop_front();
  } else if (!read(read_now)) {
    return false;
  }
  number_ = read_now.number;
  line = std::move(read_now.text);
  return true;
}

std::vector<std::string_view> SeparatedLines::ahead() const {
  std::vector<std::string_view> lines;
  for (const Line& line : ahead_) lines.emplace_back(line.text);
  return lines;
}

void SeparatedLines::divide(std::string_view line, std::vector<std::string_view>& cells) const {
  divide_at(delimiter_, line, cells);
}

bool SeparatedLines::parse_number(std::string_view cell, double& number) const {
  return parse(delimiter_, cell, number);
}

}  // namespace mega::data
