#include "bench/results.h"

#include <cmath>
#include <filesystem>

#include "bench/measure.h"
#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/strings.h"
#include "mega/report/table.h"

namespace mega::bench {
namespace {

std::string csv_text(const ResultCell& cell) {
  if (cell.value.is_null()) return "";
  return cell.value.is_string() ? cell.value.get<std::string>() : cell.value.dump();
}

}  // namespace

void ResultTable::add(std::vector<ResultCell> cells) {
  require(cells.size() == columns_.size(), "a row of ", cells.size(), " cells in a table of ",
          columns_.size(), " columns");
  rows_.push_back(std::move(cells));
}

std::string ResultTable::markdown() const {
  std::vector<std::string> header;
  for (const ResultColumn& column : columns_)
    if (!column.title.empty()) header.push_back(column.title);
  Table table(header);
  for (const auto& row : rows_) {
    std::vector<std::string> cells;
    for (size_t i = 0; i < row.size(); ++i)
      if (!columns_[i].title.empty()) cells.push_back(row[i].text);
    table.add(cells);
  }
  return table.markdown();
}

std::string ResultTable::csv() const {
  std::vector<std::string> header;
  for (const ResultColumn& column : columns_)
    if (!column.key.empty()) header.push_back(column.key);
  Table table(header);
  for (const auto& row : rows_) {
    std::vector<std::string> cells;
    for (size_t i = 0; i < row.size(); ++i)
      if (!columns_[i].key.empty()) cells.push_back(csv_text(row[i]));
    table.add(cells);
  }
  return table.csv();
}

nlohmann::ordered_json ResultTable::json() const {
  auto list = nlohmann::ordered_json::array();
  for (const auto& row : rows_) {
    nlohmann::ordered_json entry = nlohmann::ordered_json::object();
    for (size_t i = 0; i < row.size(); ++i)
      if (!columns_[i].key.empty()) entry[columns_[i].key] = row[i].value;
    list.push_back(std::move(entry));
  }
  return list;
}

std::string Results::markdown() const {
  std::string text;
  for (const auto& [name, table] : tables) text += (text.empty() ? "" : "\n") + table.markdown();
  return text;
}

std::string Results::csv() const { return tables.front().second.csv(); }

std::string Results::json() const {
  nlohmann::ordered_json all;
  if (tables.size() == 1)
    all = tables.front().second.json();
  else
    for (const auto& [name, table] : tables) all[name] = table.json();
  return all.dump(2) + "\n";
}

void Results::write_charts(const std::string& folder) const {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require(!error, folder, ": cannot create this folder: ", error.message());
  for (const auto& [name, chart] : charts)
    write_file(std::filesystem::path(folder) / (name + ".svg"), to_svg(chart));
}

ResultCell text_cell(const std::string& text) { return {text, text}; }

ResultCell count_cell(int64_t count) { return {with_thousands(count), count}; }

ResultCell seconds_cell(double seconds) {
  return std::isfinite(seconds) ? ResultCell{human_seconds(seconds), seconds} : ResultCell{};
}

ResultCell number_cell(const char* format, double value) {
  return std::isfinite(value) ? ResultCell{number(format, value), value} : ResultCell{};
}

ResultCell percent_cell(double share) {
  return std::isfinite(share) ? ResultCell{number("%.1f", 100 * share), share} : ResultCell{};
}

ResultCell ratio_cell(double ratio) {
  return std::isfinite(ratio) && ratio > 0.0 ? ResultCell{number("%.2f×", ratio), ratio} : ResultCell{};
}

ResultCell quoted_ratio(const char* ratio) {
  const std::string text = ratio;
  return text.empty() ? ResultCell{} : ResultCell{text + "×", std::stod(text)};
}

}  // namespace mega::bench
