// Series of numbers: tables with a series a line, a folder per class, or NumPy's arrays.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/json.h"
#include "mega/base/files/stream.h"
#include "mega/base/strings.h"
#include "mega/data/formats/npy.h"
#include "mega/data/formats/separated_lines.h"
#include "mega/data/formats/table_file.h"
#include "mega/data/readers/folders.h"
#include "mega/data/readers/read_files.h"
#include "mega/data/readers/readers.h"
#include "mega/data/readers/series_columns.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

// A series as a file has it, or what is wrong with it.
struct Series {
  std::vector<float> values;
  int64_t channels = 0;  // 0: all in one line, which may be read with any number of channels
  std::string trouble;
  std::string first_name;  // of its first column, where there is a header
};

// A line without any number, where numbers are expected, names the columns.
bool is_header(std::span<const std::string_view> cells, const SeparatedLines& lines) {
  double number;
  return !cells.empty() && std::none_of(cells.begin(), cells.end(), [&](std::string_view cell) {
    return lines.parse_number(cell, number);
  });
}

// Gives what is wrong with the cells, or nothing.
std::string append_numbers(std::span<const std::string_view> cells, const SeparatedLines& lines,
                           std::vector<float>& values) {
  for (const std::string_view cell : cells) {
    double number;
    if (!lines.parse_number(cell, number)) return in_quotes(cell) + " is not a number";
    values.push_back(static_cast<float>(number));
  }
  return {};
}

Series series_of_lines(SeparatedLines& lines, const DataOptions& options) {
  Series series;
  std::vector<std::string_view> cells;
  std::vector<std::string> names;
  size_t time = kNoColumn;
  int64_t rows = 0;
  for (std::string line; lines.next(line);) {
    lines.divide(line, cells);
    if (rows == 0 && names.empty() && is_header(cells, lines)) {
      names.assign(cells.begin(), cells.end());
      continue;
    }
    if (rows++ == 0) {
      series.channels = static_cast<int64_t>(cells.size());
      try {
        time = find_column(options.time_column, "time_column", names, cells.size());
      } catch (const Error& error) {
        series.trouble = error.what();
        return series;
      }
      if (time != kNoColumn) --series.channels;
      series.first_name = names.empty() ? "" : names.front();
    }
    if (time < cells.size()) cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(time));
    const auto width = static_cast<int64_t>(cells.size());
    series.trouble = width == series.channels ? append_numbers(cells, lines, series.values)
                                              : std::to_string(width) + " numbers where the first line has " +
                                                    std::to_string(series.channels);
    if (series.values.size() > file_limit() / sizeof(float))
      series.trouble = "a series of more than " + human_bytes(file_limit()) +
                       "; set MEGA_FILE_LIMIT to a larger number of bytes to raise the limit";
    if (!series.trouble.empty()) {
      series.trouble = "line " + std::to_string(lines.number()) + ": " + series.trouble;
      return series;
    }
  }
  if (rows == 1) series.channels = 0;
  return series;
}

Series series_of_text(const fs::path& path, const DataOptions& options) {
  SeparatedLines lines(path, options.delimiter);
  return series_of_lines(lines, options);
}

Series series_of_npy(const fs::path& path) {
  Series series;
  NpyFile array(path);
  const auto& shape = array.shape();
  if (shape.empty() || shape.size() > 2) {
    series.trouble = "an array of " + std::to_string(shape.size()) +
                     " dimensions where (length) or (length, channels) is expected";
    return series;
  }
  series.channels = shape.size() == 2 ? shape[1] : 1;
  array.read(array.size(), series.values);
  return series;
}

Series series_of_file(const fs::path& path, const DataOptions& options) {
  return extension_of(path) == ".npy" ? series_of_npy(path) : series_of_text(path, options);
}

// What to do about a series of other channels than the input's.
std::string advice_for(const Series& series, const SeriesInput& input) {
  if (series.channels == input.channels + 1 && names_a_time(series.first_name))
    return "; if " + in_quotes(series.first_name) + " is a time and no value, set data.time_column to it";
  return "; set input.channels to what the data has";
}

// Whole numbers as such; others with all the digits a float has.
std::string printed(double number) {
  std::array<char, 32> text;
  const bool whole = number == std::floor(number) && std::abs(number) < 1e15;
  std::snprintf(text.data(), text.size(), whole ? "%.0f" : "%.9g", number);
  return text.data();
}

// Labels and values of a line of JSON; gives what is wrong with it, or nothing.
std::string parse_json_line(const std::string& line, const std::string& where, int64_t channels,
                            const LabelRule& rule, const DataOptions& options, Record& record) {
  constexpr JsonLimits kLimits{.depth = 4, .values = size_t{1} << 24};
  nlohmann::json object;
  try {
    object = parse_json(line, where, kLimits);
  } catch (const Error& error) {
    return std::string(error.what()).substr(where.size() + 2);  // problems say where by themselves
  }
  if (!object.is_object() || !object.contains("values") || (!object.contains("label") && rule.required)) {
    return rule.required ? "expected an object with \"values\" and \"label\""
                         : "expected an object with \"values\"";
  }

  const auto as_text = [](const nlohmann::json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  const auto id = object.find(options.id_column.empty() ? "id" : options.id_column);
  if (!rule.required && id != object.end() && !id->is_null()) record.id = as_text(*id);

  const nlohmann::json none;
  const auto& label = rule.present && object.contains("label") ? object["label"] : none;
  if (label.is_array()) {
    std::vector<std::string> numbers;
    for (const auto& number : label) {
      if (!number.is_number()) return "\"label\" is a list of something else than numbers";
      numbers.push_back(as_text(number));
    }
    record.label = join(numbers, " ");
  } else if (label.is_string() || label.is_number() || label.is_boolean()) {
    record.label = plain_label(as_text(label));
  }

  const auto& values = object["values"];
  if (!values.is_array()) return "\"values\" is not a list";
  for (const auto& position : values) {
    if (position.is_number()) {
      record.values.push_back(position.get<float>());
      continue;
    }
    if (!position.is_array() || static_cast<int64_t>(position.size()) != channels ||
        !std::all_of(position.begin(), position.end(), [](const auto& value) { return value.is_number(); })) {
      return "\"values\" is neither a list of numbers nor one of lists of " + std::to_string(channels) +
             " numbers (input.channels)";
    }
    for (const auto& value : position) record.values.push_back(value.get<float>());
  }
  return {};
}

// How a table with a series a line is divided.
struct WideTable {
  bool header = false;      // its first line names the columns
  bool one_series = false;  // it is no such table: a line is a position
  size_t label = kNoColumn, time = kNoColumn;
};

// Whether the first cell of each line is the label: of data that may have none, the number of values says so,
// or that the cells are classes of the model, or no numbers. Numbers to predict look like values: there, it
// is.
bool begins_with_label(std::span<const std::vector<std::string_view>> rows, const SeparatedLines& lines,
                       const SeriesInput& input, const LabelRule& rule) {
  if (rule.required || !rule.present || rows.empty()) return rule.present;
  const auto channels = static_cast<size_t>(input.channels);
  if (channels > 1) return rows.front().size() % channels == 1;
  if (rule.known.empty()) return true;
  bool all_known = true, all_numbers = true;
  for (const auto& row : rows) {
    double number;
    if (row.empty()) continue;
    all_known =
        all_known && std::find(rule.known.begin(), rule.known.end(), plain_label(row[0])) != rule.known.end();
    all_numbers = all_numbers && lines.parse_number(row[0], number);
  }
  return all_known || !all_numbers;
}

// Errors do not say in which file.
WideTable layout_of(const SeparatedLines& lines, const DataOptions& options, const SeriesInput& input,
                    const LabelRule& rule) {
  WideTable table;
  std::vector<std::vector<std::string_view>> rows;
  for (const std::string_view line : lines.ahead()) lines.divide(line, rows.emplace_back());
  if (rows.empty()) return table;
  std::vector<std::string> names;
  table.header = options.header == Header::yes ||
                 (options.header == Header::automatic && is_header(std::span(rows[0]).subspan(1), lines));
  if (table.header) {
    names.assign(rows[0].begin(), rows[0].end());
    rows.erase(rows.begin());
  }
  const size_t width = rows.empty() ? names.size() : rows[0].size();
  table.time = find_column(options.time_column, "time_column", names, width);
  require(rule.required || table.time != kNoColumn || !options.label_column.empty() || names.empty() ||
              !names_a_time(names[0]),
          "the first column, ", in_quotes(names.empty() ? "" : names[0]),
          ", looks like a time, which is no value: set data.time_column=", names.empty() ? "" : names[0]);
  for (auto& row : rows)
    if (table.time < row.size()) row.erase(row.begin() + static_cast<std::ptrdiff_t>(table.time));
  const auto channels = static_cast<size_t>(input.channels);
  table.one_series =
      !rule.required && !rows.empty() &&
      std::all_of(rows.begin(), rows.end(), [&](const auto& row) { return row.size() == channels; });
  if (table.one_series || !rule.present) return table;
  if (!options.label_column.empty()) {
    table.label = rule.required ? find_column(options.label_column, "label_column", names, width)
                                : find_optional_column(options.label_column, names, width);
  } else if (begins_with_label(rows, lines, input, rule)) {
    table.label = table.time == 0 ? 1 : 0;
  }
  return table;
}

// Gives what is wrong with the line, or nothing.
std::string parse_table_line(std::vector<std::string_view>& cells, const WideTable& table,
                             const SeparatedLines& lines, Record& record) {
  if (table.label < cells.size()) record.label = plain_label(cells[table.label]);
  size_t i = 0;
  std::erase_if(cells, [&](std::string_view) {
    const size_t at = i++;
    return at == table.label || at == table.time;
  });
  return append_numbers(cells, lines, record.values);
}

void read_table(const fs::path& path, const std::string& shown, Split split, const DataOptions& options,
                const SeriesInput& input, RecordSink& sink, Problems& problems) {
  if (!options.id_column.empty() && extension_of(path) != ".jsonl")
    return read_long_series(path, shown, split, options, input, sink, problems);
  const LabelRule rule = sink.labels();
  SeparatedLines lines(path, options.delimiter);
  const auto ahead = lines.ahead();
  const bool json = extension_of(path) == ".jsonl" || (!ahead.empty() && ahead.front().starts_with('{'));
  WideTable table;
  try {
    if (!json) table = layout_of(lines, options, input, rule);
  } catch (const Error& error) {
    fail(shown, ": ", error.what());
  }
  if (table.one_series) {
    Series series = series_of_lines(lines, options);
    if (series.trouble.empty()) series.trouble = trouble_with(series.values, input.channels);
    if (!series.trouble.empty()) return problems.add(shown, series.trouble);
    Record record;
    record.values = std::move(series.values);
    record.split = split;
    record.where = shown;
    return sink.add(std::move(record));
  }

  std::vector<std::string_view> cells;
  bool first = true, empty = true;
  for (std::string line; lines.next(line);) {
    if (std::exchange(first, false) && table.header) continue;
    empty = false;
    Record record;
    record.split = split;
    record.where = shown + ":" + std::to_string(lines.number());
    std::string trouble;
    if (json) {
      trouble = parse_json_line(line, record.where, input.channels, rule, options, record);
    } else {
      lines.divide(line, cells);
      trouble = parse_table_line(cells, table, lines, record);
    }
    if (trouble.empty() && rule.required && record.label.empty()) trouble = "the label is empty";
    if (trouble.empty()) trouble = trouble_with(record.values, input.channels);
    if (!trouble.empty()) {
      problems.add(record.where, trouble);
    } else if (wanted_class(options, record.label)) {
      sink.add(std::move(record));
    }
  }
  if (empty && rule.required) problems.add(shown, "no series in this table");
}

// With what makes it unfit for the input as its trouble.
Series checked_series(const fs::path& path, const SeriesInput& input, const DataOptions& options) {
  Series series = series_of_file(path, options);
  if (series.trouble.empty() && series.channels != 0 && series.channels != input.channels)
    series.trouble = wrong_channels(series.channels, input);
  if (series.trouble.empty()) series.trouble = trouble_with(series.values, input.channels);
  return series;
}

// An Error says what is wrong without the file's name: who counts problems adds it.
Record read_series_file(const fs::path& path, const SeriesInput& input, const DataOptions& options) {
  Series series = checked_series(path, input, options);
  require(series.trouble.empty(), series.trouble);
  Record record;
  record.values = std::move(series.values);
  record.values.shrink_to_fit();
  return record;
}

// The first good file says how the data is: if it has other channels than the input, that is not its own
// fault.
void require_channels(const std::vector<LabelledFile>& files, const SeriesInput& input,
                      const DataOptions& options, const Problems& problems) {
  for (const LabelledFile& file : files) {
    Series series;
    try {
      series = series_of_file(file.absolute, options);
    } catch (const Error& error) {
      series.trouble = error.what();
    }
    if (series.trouble.empty()) {
      require(series.channels == 0 || series.channels == input.channels, file.relative, ": ",
              wrong_channels(series.channels, input), advice_for(series, input));
      if (trouble_with(series.values, input.channels).empty()) return;
    }
    if (!problems.skips()) return;  // an Error when its turn comes
  }
}

void read_class_folders(const fs::path& folder, const DataOptions& options, const SeriesInput& input,
                        RecordSink& sink, Problems& problems) {
  const std::vector<LabelledFile> files =
      labelled_files(folder, {".csv", ".tsv", ".npy"}, options, problems, sink.labels().required);
  require_channels(files, input, options, problems);
  read_files(
      files, folder,
      [input, options](const fs::path& path) { return read_series_file(path, input, options); }, options,
      sink, problems);
}

// Whether a file holds many series: it is in no folder that could be a class.
bool outside_classes(const fs::path& relative) {
  const fs::path folders = relative.parent_path();
  return std::all_of(folders.begin(), folders.end(),
                     [](const fs::path& folder) { return split_named(folder.string()) != Split::unknown; });
}

// "X.npy" and "x_train.npy" are series; their labels are in the same name with a y.
bool is_array_of_series(const fs::path& relative) {
  const std::string name = lower_case(relative.filename().string());
  return outside_classes(relative) && (name.starts_with("x.") || name.starts_with("x_"));
}

// Nothing where they are not needed and not there.
std::optional<fs::path> labels_of(const fs::path& series, const LabelRule& rule) {
  if (!rule.present) return std::nullopt;
  std::string name = series.filename().string();
  for (const char letter : {'y', 'Y'}) {
    name[0] = letter;
    std::error_code none;
    if (fs::path labels = series.parent_path() / name; labels != series && fs::exists(labels, none)) {
      require_regular(labels);
      return labels;
    }
  }
  if (!rule.required) return std::nullopt;
  name[0] = 'y';
  fail(series.string(), ": the labels, ", name, ", are not beside it");
}

// One series is (length) or (length, channels); where that could be several of one channel, the name decides.
bool is_one_series(const fs::path& path, const std::vector<int64_t>& shape, const SeriesInput& input) {
  return shape.size() == 1 ||
         (shape.size() == 2 && shape[1] == input.channels && !is_array_of_series(path.filename()));
}

void read_arrays(const fs::path& path, const std::string& shown, Split split, const DataOptions& options,
                 const SeriesInput& input, RecordSink& sink, Problems& problems) {
  const LabelRule rule = sink.labels();
  const std::optional<fs::path> labels_path = labels_of(path, rule);
  NpyFile series(path);
  std::optional<NpyFile> labels;
  if (labels_path) labels.emplace(*labels_path);
  const auto& shape = series.shape();
  if (!rule.required && is_one_series(path, shape, input)) {
    Record record = read_one_series(path, input);
    record.split = split;
    record.where = shown;
    return sink.add(std::move(record));
  }
  require(shape.size() == 2 || shape.size() == 3, shown, ": an array of ", shape.size(),
          " dimensions where (series, length) or (series, length, channels) is expected");
  const int64_t channels = shape.size() == 3 ? shape[2] : 1;
  require(channels == input.channels, shown, ": ", wrong_channels(channels, input),
          "; set input.channels to what the data has");
  const int64_t count = shape[0];
  require(!labels || (!labels->shape().empty() && labels->shape().size() <= 2 && labels->shape()[0] == count),
          labels_path.value_or(path).string(), ": expected (", count, ") or (", count,
          ", outputs), a row for each row of ", shown);
  if (series.size() == 0) {
    problems.add(shown, "no series in this array");
    return;
  }

  const int64_t values = series.size() / count, outputs = labels ? labels->size() / count : 0;
  std::vector<double> row_labels;
  for (int64_t row = 0; row < count; ++row) {
    Record record;
    record.split = split;
    record.where = shown + ":" + std::to_string(row + 1);
    series.read(values, record.values);
    row_labels.clear();
    if (labels) labels->read(outputs, row_labels);
    std::string trouble = trouble_with(record.values, channels);
    for (const double label : row_labels) {
      if (trouble.empty() && !std::isfinite(label)) trouble = "the label is not a finite number";
      record.label += (record.label.empty() ? "" : " ") + printed(label);
    }
    if (trouble.empty() && outputs == 0 && rule.required) trouble = "the label is empty";
    if (!trouble.empty()) {
      problems.add(record.where, trouble);
    } else if (wanted_class(options, record.label)) {
      sink.add(std::move(record));
    }
  }
}

}  // namespace

void read_series(const fs::path& path, const DataOptions& options, const SeriesInput& input, RecordSink& sink,
                 Problems& problems) {
  std::error_code none;
  if (!fs::is_directory(path, none)) {
    const std::string shown = path == "-" ? "standard input" : path.filename().string();
    const auto read = extension_of(path) == ".npy" ? read_arrays : read_table;
    return read(path, shown, Split::unknown, options, input, sink, problems);
  }
  const int64_t before = sink.size();

  const SplitRule split(options);
  bool found = false;
  const auto read_all = [&](const std::vector<std::string>& extensions, auto wanted, auto read) {
    for (const fs::path& file : list_files(path, extensions)) {
      const fs::path relative = file.lexically_relative(path);
      if (!wanted(relative)) continue;
      found = true;
      read(file, relative.generic_string(), split(relative), options, input, sink, problems);
    }
  };
  read_all({".npy"}, is_array_of_series, read_arrays);
  if (!found && options.label_pattern.empty()) read_all(kTableExtensions, outside_classes, read_table);
  if (!found) {
    read_class_folders(path, options, input, sink, problems);
    require(sink.size() > before || problems.count() > 0, path.string(),
            ": no series here; expected X.npy and y.npy, csv, tsv or jsonl files, or a folder of csv or npy "
            "files for each class");
  }
}

Record read_one_series(const fs::path& path, const SeriesInput& input, const DataOptions& options) {
  const std::string shown = path == "-" ? "standard input" : path.string();
  Series series = checked_series(path, input, options);
  require(series.trouble.empty(), shown, ": ", series.trouble);
  Record record;
  record.values = std::move(series.values);
  record.where = shown;
  return record;
}

}  // namespace mega::data
