#include "mega/report/table.h"

#include <algorithm>

#include "mega/base/error.h"
#include "mega/base/printable.h"
#include "mega/base/strings.h"
#include "mega/report/html.h"
#include "mega/report/terminal.h"

namespace mega {
namespace {

using Row = std::vector<std::string>;

struct Column {
  int64_t width = 0;
  bool numeric = false;
};

bool is_digit(char c) { return '0' <= c && c <= '9'; }

// A number, optionally with sign, separators and unit: "1,386,874", "-0.5", "1.5 KiB", "2.9×", "97 %".
bool looks_numeric(std::string_view cell) {
  constexpr int64_t kLongestUnit = 8;
  size_t i = 0;
  while (i < cell.size() && (cell[i] == '-' || cell[i] == '+' || cell[i] == '~' || cell[i] == '.')) ++i;
  if (i == cell.size() || !is_digit(cell[i])) return false;
  while (i < cell.size() && (is_digit(cell[i]) || cell[i] == ',' || cell[i] == '.')) ++i;
  const std::string_view unit = cell.substr(i);
  const bool exponent = std::any_of(unit.begin(), unit.end(), is_digit);
  return exponent ? unit[0] == 'e' || unit[0] == 'E' : display_width(unit) <= kLongestUnit;
}

// Placeholders for a missing number do not make a numeric column a text column.
bool is_blank(std::string_view cell) { return cell.empty() || cell == "-" || cell == "–" || cell == "?"; }

std::vector<Column> measure(const Row& header, const std::vector<Row>& rows) {
  std::vector<Column> columns(header.size());
  for (size_t c = 0; c < header.size(); ++c) {
    columns[c].width = display_width(header[c]);
    bool all_numbers = true;
    bool any_number = false;
    for (const Row& row : rows) {
      columns[c].width = std::max(columns[c].width, display_width(row[c]));
      if (is_blank(row[c])) continue;
      (looks_numeric(row[c]) ? any_number : all_numbers) = looks_numeric(row[c]);
    }
    columns[c].numeric = any_number && all_numbers;
  }
  return columns;
}

std::string padded(const std::string& cell, const Column& column) {
  const std::string space(static_cast<size_t>(std::max<int64_t>(0, column.width - display_width(cell))), ' ');
  return column.numeric ? space + cell : cell + space;
}

// A cell must not contain a line break, nor anything that a terminal obeys.
Row single_line(Row row) {
  for (std::string& cell : row) {
    std::replace(cell.begin(), cell.end(), '\n', ' ');
    cell = printable(cell);
  }
  return row;
}

Row escape_markdown(Row row) {
  for (std::string& cell : row)
    for (size_t i = 0; (i = cell.find('|', i)) != std::string::npos; i += 2) cell.insert(i, "\\");
  return row;
}

std::string plain_line(const Row& row, const std::vector<Column>& columns) {
  std::string line;
  for (size_t c = 0; c < row.size(); ++c) line += (c > 0 ? "  " : "") + padded(row[c], columns[c]);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

constexpr int64_t kGap = 2;  // between columns

int64_t width_of(const std::vector<Column>& columns) {
  int64_t sum = kGap * (std::ssize(columns) - 1);
  for (const Column& column : columns) sum += column.width;
  return sum;
}

// Narrows the widest columns of text until all fit. False if they cannot.
bool narrow(std::vector<Column>& columns, int64_t width) {
  constexpr int64_t kNarrowest = 16;  // a few words to a line
  for (int64_t excess = width_of(columns) - width; excess > 0; --excess) {
    Column* widest = nullptr;
    for (Column& column : columns)
      if (!column.numeric && column.width > kNarrowest && (widest == nullptr || column.width > widest->width))
        widest = &column;
    if (widest == nullptr) return false;
    --widest->width;
  }
  return true;
}

// A row as lines: cells wrapped to their columns. Cells beyond the columns are left out.
std::string wrapped_line(const Row& row, const std::vector<Column>& columns) {
  std::vector<std::vector<std::string>> cells;
  size_t height = 1;
  for (size_t c = 0; c < columns.size(); ++c) {
    cells.push_back(wrap(row[c], columns[c].width));
    height = std::max(height, cells.back().size());
  }
  std::string lines;
  for (size_t i = 0; i < height; ++i) {
    Row line;
    for (const std::vector<std::string>& cell : cells) line.push_back(i < cell.size() ? cell[i] : "");
    lines += plain_line(line, columns);
  }
  return lines;
}

std::string markdown_line(const Row& row, const std::vector<Column>& columns) {
  std::string line = "|";
  for (size_t c = 0; c < row.size(); ++c) line += " " + padded(row[c], columns[c]) + " |";
  return line + "\n";
}

std::string csv_line(const Row& row) {
  std::string line;
  for (size_t c = 0; c < row.size(); ++c) {
    if (c > 0) line += ',';
    if (row[c].find_first_of(",\"\r\n") == std::string::npos) {
      line += row[c];
      continue;
    }
    line += '"';
    for (const char character : row[c]) line += character == '"' ? "\"\"" : std::string(1, character);
    line += '"';
  }
  return line + "\n";
}

}  // namespace

Table::Table(std::vector<std::string> header) : header_(std::move(header)) {}

void Table::add(std::vector<std::string> cells) {
  require(cells.size() == header_.size(), "a table of ", header_.size(), " columns got a row of ",
          cells.size(), " cells");
  rows_.push_back(std::move(cells));
}

std::string Table::plain() const {
  std::vector<Row> rows;
  for (const Row& row : rows_) rows.push_back(single_line(row));
  const Row header = single_line(header_);
  const std::vector<Column> columns = measure(header, rows);
  std::string text = plain_line(header, columns);
  Row rule;
  for (const Column& column : columns) rule.emplace_back(static_cast<size_t>(column.width), '-');
  text += plain_line(rule, columns);
  for (const Row& row : rows) text += plain_line(row, columns);
  return text;
}

std::string Table::fitted(int64_t width) const {
  std::vector<Row> rows;
  for (const Row& row : rows_) rows.push_back(single_line(row));
  std::vector<Column> columns = measure(header_, rows);
  for (std::vector<Column> narrowed = columns;; narrowed = columns) {
    if (narrow(narrowed, width)) {
      columns = narrowed;
      break;
    }
    if (columns.size() == 1) {
      columns.front().width = std::max<int64_t>(1, std::min(columns.front().width, width));
      break;
    }
    columns.pop_back();
  }
  std::string text = wrapped_line(header_, columns);
  Row rule;
  for (const Column& column : columns) rule.emplace_back(static_cast<size_t>(column.width), '-');
  text += plain_line(rule, columns);
  for (const Row& row : rows) text += wrapped_line(row, columns);
  return text;
}

void Table::print(std::FILE* to) const {
  std::fputs((is_terminal(to) ? fitted(terminal_width(to)) : plain()).c_str(), to);
}

std::string Table::markdown() const {
  std::vector<Row> rows;
  for (const Row& row : rows_) rows.push_back(escape_markdown(single_line(row)));
  const Row header = escape_markdown(single_line(header_));
  std::vector<Column> columns = measure(header, rows);
  for (Column& column : columns) column.width = std::max<int64_t>(column.width, 3);
  std::string text = markdown_line(header, columns);
  Row rule;
  for (const Column& column : columns)
    rule.push_back(std::string(static_cast<size_t>(column.width) - 1, '-') + (column.numeric ? ":" : "-"));
  text += markdown_line(rule, columns);
  for (const Row& row : rows) text += markdown_line(row, columns);
  return text;
}

std::string Table::csv() const {
  std::string text = csv_line(header_);
  for (const Row& row : rows_) text += csv_line(row);
  return text;
}

std::string Table::html() const {
  const std::vector<Column> columns = measure(header_, rows_);
  std::vector<html::Column> titles;
  for (size_t c = 0; c < header_.size(); ++c)
    titles.push_back({header_[c], columns[c].numeric ? "number" : "name"});
  html::Rows cells;
  for (const Row& row : rows_) cells.emplace_back(row.begin(), row.end());
  return html::table(titles, cells);
}

}  // namespace mega
