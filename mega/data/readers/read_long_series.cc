// Series in long format: a row per time step.
#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/data/formats/separated_lines.h"
#include "mega/data/formats/table_file.h"
#include "mega/data/readers/folders.h"
#include "mega/data/readers/series_columns.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

struct LongColumns {
  std::vector<std::string> names;  // of the header; empty: there is none
  size_t width = 0;
  size_t id = kNoColumn, time = kNoColumn, label = kNoColumn;

  size_t channels() const { return width - 1 - (time != kNoColumn ? 1 : 0) - (label != kNoColumn ? 1 : 0); }
  bool is_value(size_t column) const { return column != id && column != time && column != label; }
};

// The rows of one series so far.
struct LongSeries {
  std::string id, label;
  int64_t line = 0;  // of its first row
  std::vector<float> values;
  std::vector<double> times;  // one per row, if all are numbers
  std::vector<std::string>
      time_texts;  // or else so: dates as ISO 8601 writes them have the order of their bytes
  std::string trouble;
};

size_t find_label(const DataOptions& options, const LongColumns& columns, const LabelRule& rule) {
  if (!rule.present) return kNoColumn;
  const auto& names = columns.names;
  if (!options.label_column.empty())
    return rule.required ? find_column(options.label_column, "label_column", names, columns.width)
                         : find_optional_column(options.label_column, names, columns.width);
  for (const std::string_view usual : {"label", "labels", "class", "target", "category", "y"})
    for (size_t i = 0; i < names.size(); ++i)
      if (i != columns.id && i != columns.time && lower_case(trim(names[i])) == usual) return i;
  require(!rule.required, "which column is the label? Set data.label_column");
  return kNoColumn;
}

std::string value_names(const LongColumns& columns) {
  std::vector<std::string> names;
  for (size_t i = 0; i < columns.names.size() && names.size() < 20; ++i)
    if (columns.is_value(i)) names.push_back(in_quotes(columns.names[i]));
  return names.empty() ? "" : " (" + join(names, ", ") + ")";
}

// Reads the header, if the first line is one.
LongColumns choose_columns(SeparatedLines& lines, const DataOptions& options, const SeriesInput& input,
                           const LabelRule& rule) {
  LongColumns columns;
  const auto ahead = lines.ahead();
  if (ahead.empty()) return columns;
  std::vector<std::string_view> cells;
  lines.divide(ahead.front(), cells);
  double number;
  const bool no_number = std::none_of(
      cells.begin(), cells.end(), [&](std::string_view cell) { return lines.parse_number(cell, number); });
  const bool has_name = std::find(cells.begin(), cells.end(), options.id_column) != cells.end();
  columns.width = cells.size();
  if (options.header == Header::yes || (options.header == Header::automatic && (no_number || has_name))) {
    columns.names.assign(cells.begin(), cells.end());
    std::string header;
    lines.next(header);
  }
  columns.id = find_column(options.id_column, "id_column", columns.names, columns.width);
  columns.time = find_column(options.time_column, "time_column", columns.names, columns.width);
  columns.label = find_label(options, columns, rule);
  require(columns.id != columns.time && columns.id != columns.label &&
              (columns.time == kNoColumn || columns.time != columns.label),
          "data.id_column, data.time_column and data.label_column must be different columns");
  const auto channels = static_cast<int64_t>(columns.channels());
  require(channels == input.channels, wrong_channels(channels, input), value_names(columns),
          ": every column but those of id, time and label is one; set input.channels, or remove columns");
  return columns;
}

// Gives what is wrong with the row, or nothing.
std::string add_row(const std::vector<std::string_view>& cells, const LongColumns& columns,
                    const SeparatedLines& lines, LongSeries& series) {
  if (columns.label != kNoColumn) {
    std::string label = plain_label(cells[columns.label]);
    if (series.values.empty())
      series.label = std::move(label);
    else if (label != series.label)
      return "the label is " + in_quotes(label) + ", and " + in_quotes(series.label) +
             " in an earlier row of this series";
  }
  if (columns.time != kNoColumn) {
    double time;
    const std::string_view cell = cells[columns.time];
    const bool is_number = lines.parse_number(cell, time);
    if (!series.values.empty() && is_number != series.time_texts.empty())
      return "the time " + in_quotes(cell) + " is not written like that of an earlier row";
    if (is_number)
      series.times.push_back(time);
    else
      series.time_texts.emplace_back(cell);
  }
  for (size_t i = 0; i < cells.size(); ++i) {
    double number;
    if (!columns.is_value(i)) continue;
    if (!lines.parse_number(cells[i], number)) return in_quotes(cells[i]) + " is not a number";
    series.values.push_back(static_cast<float>(number));
  }
  return {};
}

void sort_by_time(LongSeries& series, size_t channels) {
  const auto sort = [&](const auto& times) {
    if (std::is_sorted(times.begin(), times.end())) return;
    std::vector<size_t> order(times.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return times[a] < times[b]; });
    std::vector<float> sorted;
    sorted.reserve(series.values.size());
    for (const size_t row : order)
      for (size_t i = 0; i < channels; ++i) sorted.push_back(series.values[row * channels + i]);
    series.values = std::move(sorted);
  };
  sort(series.times);
  sort(series.time_texts);
}

std::vector<LongSeries> collect(SeparatedLines& lines, const LongColumns& columns) {
  std::vector<LongSeries> all;
  std::unordered_map<std::string, size_t> numbers;
  std::vector<std::string_view> cells;
  for (std::string line; lines.next(line);) {
    lines.divide(line, cells);
    const std::string id(columns.id < cells.size() ? cells[columns.id] : std::string_view());
    const auto [found, is_new] = numbers.try_emplace(id, all.size());
    if (is_new) {
      all.emplace_back().id = id;
      all.back().line = lines.number();
    }
    LongSeries& series = all[found->second];
    if (!series.trouble.empty()) continue;
    if (cells.size() != columns.width)
      series.trouble =
          std::to_string(cells.size()) + " columns where " + std::to_string(columns.width) + " are expected";
    else
      series.trouble = add_row(cells, columns, lines, series);
    if (!series.trouble.empty()) {
      series.trouble = "line " + std::to_string(lines.number()) + ": " + series.trouble;
      series.values = {};
    }
  }
  return all;
}

}  // namespace

void read_long_series(const fs::path& path, const std::string& shown, Split split, const DataOptions& options,
                      const SeriesInput& input, RecordSink& sink, Problems& problems) {
  const LabelRule rule = sink.labels();
  SeparatedLines lines(path, options.delimiter);
  LongColumns columns;
  try {
    columns = choose_columns(lines, options, input, rule);
  } catch (const Error& error) {
    fail(shown, ": ", error.what());
  }
  std::vector<LongSeries> all = collect(lines, columns);
  for (LongSeries& series : all) {
    Record record;
    record.where = shown + ":" + std::to_string(series.line);
    record.split = split;
    record.label = std::move(series.label);
    record.id = std::move(series.id);
    std::string trouble = std::move(series.trouble);
    if (trouble.empty() && rule.required && record.label.empty()) trouble = "the label is empty";
    if (trouble.empty()) trouble = trouble_with(series.values, input.channels);
    if (!trouble.empty()) {
      problems.add(record.where, trouble);
      continue;
    }
    if (!wanted_class(options, record.label)) continue;
    sort_by_time(series, static_cast<size_t>(input.channels));
    record.values = std::exchange(series.values, {});
    sink.add(std::move(record));
  }
  if (all.empty() && rule.required) problems.add(shown, "no series in this table");
}

}  // namespace mega::data
