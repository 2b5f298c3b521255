// A small text table with plain, Markdown, CSV and HTML output.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace mega {

class Table {
 public:
  explicit Table(std::vector<std::string> header);

  // Exactly one cell per column.
  void add(std::vector<std::string> cells);

  // Columns that hold numbers are aligned to the right; every line ends with a newline.
  std::string plain() const;
  // The same in at most `width` columns: text is wrapped, and where that is not enough, columns are left out,
  // the last first.
  std::string fitted(int64_t width) const;
  // Fitted to a terminal, otherwise plain: programs read whole lines.
  void print(std::FILE* to) const;
  std::string markdown() const;
  std::string csv() const;  // RFC 4180
  std::string html() const;

  bool empty() const { return rows_.empty(); }

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace mega
