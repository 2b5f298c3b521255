// A small text table with plain, Markdown and CSV output.
#pragma once

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
  std::string markdown() const;
  std::string csv() const;  // RFC 4180

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace mega
