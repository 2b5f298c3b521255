// Results of a benchmark: the same rows as Markdown for people, and as CSV and JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "mega/report/chart.h"

namespace mega::bench {

struct ResultColumn {
  std::string title;  // of the Markdown table; empty: left out of it
  std::string key;    // of CSV and JSON; empty: left out of these
};

// What people read, and the value behind it.
struct ResultCell {
  std::string text;
  nlohmann::ordered_json value;
};

class ResultTable {
 public:
  explicit ResultTable(std::vector<ResultColumn> columns) : columns_(std::move(columns)) {}

  // A cell for each column.
  void add(std::vector<ResultCell> cells);

  std::string markdown() const;
  std::string csv() const;
  nlohmann::ordered_json json() const;  // a list of objects

 private:
  std::vector<ResultColumn> columns_;
  std::vector<std::vector<ResultCell>> rows_;
};

// What a benchmark found: tables, the first of which has the rows, and charts, each by its name.
struct Results {
  std::vector<std::pair<std::string, ResultTable>> tables;
  std::vector<std::pair<std::string, LineChart>> charts;

  std::string markdown() const;
  std::string csv() const;   // the rows
  std::string json() const;  // the rows, or an object with all tables if there are several
  // As FOLDER/NAME.svg; the folder is made.
  void write_charts(const std::string& folder) const;
};

// Cells of the usual columns. A value that is not finite, or is not known, is an empty cell and null.
ResultCell text_cell(const std::string& text);
ResultCell count_cell(int64_t count);
ResultCell seconds_cell(double seconds);
ResultCell number_cell(const char* format, double value);
ResultCell percent_cell(double share);       // 0.123: "12.3"
ResultCell ratio_cell(double ratio);         // 2: "2.00×"; 0 is not known
ResultCell quoted_ratio(const char* ratio);  // of the paper, as it is printed there: "0.10"

}  // namespace mega::bench
