// Lines of numbers, with a few words beside them: between commas, semicolons, tabs, bars or spaces. What
// separates them is the same in the whole file and found from its first lines: it is what leaves numbers.
// Between semicolons a comma may stand for the decimal point.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "mega/base/files/stream.h"

namespace mega::data {

class SeparatedLines {
 public:
  // `delimiter`: as in parse_delimiter (csv.h).
  SeparatedLines(const std::filesystem::path& path, std::string_view delimiter);

  // The next line that is not empty, without a byte order mark; false at the end.
  bool next(std::string& line);
  int64_t number() const { return number_; }  // of the line read last, from 1

  // The next lines, some twenty of them, that next() has yet to give.
  std::vector<std::string_view> ahead() const;

  // Cells without the space and the quotes around them; they refer to the line.
  void divide(std::string_view line, std::vector<std::string_view>& cells) const;

  // Whether all of the cell is a number, and which.
  bool parse_number(std::string_view cell, double& number) const;

 private:
  struct Line {
    std::string text;
    int64_t number;
  };

  // Cells between such a delimiter in the lines ahead that have a number: those without may be headers.
  struct Fit {
    int64_t numbers = 0, others = 0;
  };

  bool read(Line& line);
  Fit fit_of(char delimiter) const;

  LineReader lines_;
  std::deque<Line> ahead_;
  char delimiter_;
  int64_t number_ = 0;
};

}  // namespace mega::data
