#include "mega/data/formats/csv.h"

#include <array>
#include <cctype>
#include <map>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/strings.h"

namespace mega::data {
namespace {

constexpr std::array<std::pair<std::string_view, char>, 7> kNames = {{{"comma", ','},
                                                                      {"semicolon", ';'},
                                                                      {"tab", '\t'},
                                                                      {"\\t", '\t'},
                                                                      {"bar", '|'},
                                                                      {"pipe", '|'},
                                                                      {"space", ' '}}};

std::string name_of(char delimiter) {
  if (delimiter == ',') return "a comma";
  if (delimiter == '\t') return "a tab";
  return in_quotes(std::string_view(&delimiter, 1));
}

// How well a delimiter divides lines.
struct Fit {
  size_t lines = 0;        // in rows of the most frequent width of several cells
  bool first_row = false;  // is one of those
};

Fit fit_of(std::span<const std::string> lines, char delimiter) {
  std::map<size_t, size_t> lines_of_width;
  size_t first_width = 0;
  std::string row;
  size_t row_lines = 0;
  bool open = false;
  Cells cells;
  for (const std::string& line : lines) {
    if (row_lines > 0) row += '\n';
    row += line;
    ++row_lines;
    open = quotes_open(line, open, delimiter);
    if (open) continue;
    const size_t width = divide_csv(row, delimiter, cells).empty() ? cells.size() : 0;
    if (first_width == 0) first_width = width == 0 ? 1 : width;
    lines_of_width[width] += row_lines;
    row.clear();
    row_lines = 0;
  }
  Fit fit;
  size_t best = 0;
  for (const auto& [width, count] : lines_of_width) {
    if (width < 2 || count <= fit.lines) continue;
    fit.lines = count;
    best = width;
  }
  fit.first_row = best > 0 && best == first_width;
  return fit;
}

}  // namespace

char parse_delimiter(std::string_view option) {
  if (option.empty() || option == "auto") return 0;
  for (const auto& [name, delimiter] : kNames)
    if (option == name) return delimiter;
  const bool usable = option.size() == 1 && option != "\"" && option != "\n" && option != "\r" &&
                      std::isalnum(static_cast<unsigned char>(option[0])) == 0;
  require(
      usable,
      "data.delimiter: expected one character such as ; or one of comma, semicolon, tab, bar, space, got ",
      in_quotes(option));
  return option[0];
}

char find_delimiter(std::span<const std::string> lines) {
  char best = ',';
  size_t most = fit_of(lines, ',').lines;
  for (const char candidate : {';', '\t', '|'}) {
    const Fit fit = fit_of(lines, candidate);
    if (!fit.first_row || fit.lines <= most || 4 * fit.lines < 3 * lines.size()) continue;
    best = candidate;
    most = fit.lines;
  }
  return best;
}

bool quotes_open(std::string_view line, bool open, char delimiter) {
  bool cell_starts = !open;
  for (size_t i = 0; i < line.size(); ++i) {
    if (open) {
      i = line.find('"', i);
      if (i == std::string_view::npos) return true;
      if (i + 1 < line.size() && line[i + 1] == '"') {
        ++i;
      } else {
        open = false;
      }
      cell_starts = false;
    } else {
      open = cell_starts && line[i] == '"';
      cell_starts = line[i] == delimiter;
    }
  }
  return open;
}

std::string divide_csv(std::string_view row, char delimiter, Cells& cells) {
  cells.clear();
  while (true) {
    if (cells.size() == kMostColumns) return "more than " + std::to_string(kMostColumns) + " columns";
    std::string& cell = cells.emplace_back();
    if (row.starts_with('"')) {
      row.remove_prefix(1);
      while (true) {
        const size_t quote = row.find('"');
        cell += row.substr(0, quote);
        row.remove_prefix(quote + 1);  // there is one: a row ends where its quotes are closed
        if (!row.starts_with('"')) break;
        cell += '"';
        row.remove_prefix(1);
      }
      if (row.empty()) return {};
      if (row[0] != delimiter)
        return "after a closing quote comes " + in_quotes(row.substr(0, 20)) + ", not " + name_of(delimiter);
    } else {
      const size_t end = row.find(delimiter);
      cell = row.substr(0, end);
      if (end == std::string_view::npos) return {};
      row.remove_prefix(end);
    }
    row.remove_prefix(1);
  }
}

}  // namespace mega::data
