// Series of numbers: tables with a series a line, a folder per class, or NumPy's arrays.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/file.h"
#include "mega/base/json.h"
#include "mega/base/stream.h"
#include "mega/base/strings.h"
#include "mega/data/formats/npy.h"
#include "mega/data/formats/table_file.h"
#include "mega/data/readers/folders.h"
#include "mega/data/readers/read_files.h"
#include "mega/data/readers/readers.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

// A series as a file has it, or what is wrong with it.
struct Series {
  std::vector<float> values;
  int64_t channels = 0;  // 0: all in one line, which may be read with any number of channels
  std::string trouble;
};

// Between commas, or else between tabs, or else between spaces.
void divide(std::string_view line, std::vector<std::string_view>& cells) {
  cells.clear();
  char separator = ' ';
  for (const char candidate : {'\t', ','}) {
    if (line.find(candidate) != std::string_view::npos) separator = candidate;
  }
  if (separator == ' ') line = trim(line);
  while (true) {
    const size_t end = line.find(separator);
    cells.push_back(trim(line.substr(0, end)));
    if (end == std::string_view::npos) return;
    line.remove_prefix(end + 1);
    if (separator == ' ') line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  }
}

bool parse_number(std::string_view text, double& number) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// A line without any number, where numbers are expected, names the columns.
bool is_header(std::span<const std::string_view> cells) {
  double number;
  return !cells.empty() && std::none_of(cells.begin(), cells.end(),
                                        [&](std::string_view cell) { return parse_number(cell, number); });
}

// Gives what is wrong with the cells, or nothing.
std::string append_numbers(std::span<const std::string_view> cells, std::vector<float>& values) {
  for (const std::string_view cell : cells) {
    double number;
    if (!parse_number(cell, number)) return in_quotes(cell) + " is not a number";
    values.push_back(static_cast<float>(number));
  }
  return {};
}

// What makes these values no series of so many channels, or nothing.
std::string trouble_with(std::span<const float> values, int64_t channels) {
  if (values.empty()) return "no values";
  const auto width = static_cast<size_t>(channels);
  if (values.size() % width != 0) {
    return std::to_string(values.size()) + " values cannot be divided into positions of " +
           std::to_string(width) + " channels";
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    return "the value at position " + std::to_string(i / width + 1) + ", channel " +
           std::to_string(i % width + 1) + " is " + (std::isnan(values[i]) ? "not a number" : "infinite") +
           "; fill in gaps before training";
  }
  return {};
}

Series series_of_text(const fs::path& path) {
  Series series;
  LineReader lines(path);
  std::vector<std::string_view> cells;
  int64_t rows = 0;
  for (std::string line; lines.next(line);) {
    std::string_view text = line;
    if (lines.number() == 1 && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    if (trim(text).empty()) continue;
    divide(text, cells);
    if (lines.number() == 1 && is_header(cells)) continue;

    const auto width = static_cast<int64_t>(cells.size());
    if (rows++ == 0) series.channels = width;
    series.trouble = width == series.channels ? append_numbers(cells, series.values)
                                              : std::to_string(width) + " numbers where the first line has " +
                                                    std::to_string(series.channels);
    require(series.values.size() <= file_limit() / sizeof(float), path.string(), ": a series of more than ",
            human_bytes(file_limit()),
            "; set MEGA_FILE_LIMIT to a larger number of bytes to raise the limit");
    if (!series.trouble.empty()) {
      series.trouble = "line " + std::to_string(lines.number()) + ": " + series.trouble;
      return series;
    }
  }
  if (rows == 1) series.channels = 0;
  return series;
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

Series series_of_file(const fs::path& path) {
  return extension_of(path) == ".npy" ? series_of_npy(path) : series_of_text(path);
}

std::string wrong_channels(int64_t channels, const SeriesInput& input) {
  return std::to_string(channels) + (channels == 1 ? " channel" : " channels") + " where input.channels is " +
         std::to_string(input.channels);
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
                            Record& record) {
  constexpr JsonLimits kLimits{.depth = 4, .values = size_t{1} << 24};
  nlohmann::json object;
  try {
    object = parse_json(line, where, kLimits);
  } catch (const Error& error) {
    return std::string(error.what()).substr(where.size() + 2);  // problems say where by themselves
  }
  if (!object.is_object() || !object.contains("values") || !object.contains("label")) {
    return "expected an object with \"values\" and \"label\"";
  }

  const auto& label = object["label"];
  const auto as_text = [](const nlohmann::json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
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

// The label, then the values.
std::string parse_table_line(std::span<const std::string_view> cells, Record& record) {
  std::string_view label = cells[0];
  if (label.size() >= 2 && label.starts_with('"') && label.ends_with('"')) {
    label = label.substr(1, label.size() - 2);
  }
  record.label = plain_label(label);
  return append_numbers(cells.subspan(1), record.values);
}

void read_table(const fs::path& path, const std::string& shown, Split split, const DataOptions& options,
                const SeriesInput& input, RecordSink& sink, Problems& problems) {
  LineReader lines(path);
  std::vector<std::string_view> cells;
  bool json = extension_of(path) == ".jsonl";
  bool first = true, empty = true;
  for (std::string line; lines.next(line);) {
    if (lines.number() == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    if (trim(line).empty()) continue;
    const bool is_first = std::exchange(first, false);
    json = json || (is_first && line.starts_with('{'));

    Record record;
    record.split = split;
    record.where = shown + ":" + std::to_string(lines.number());
    std::string trouble;
    if (json) {
      trouble = parse_json_line(line, record.where, input.channels, record);
    } else {
      divide(line, cells);
      const bool names = options.header == Header::yes ||
                         (options.header == Header::automatic && is_header(std::span(cells).subspan(1)));
      if (is_first && names) continue;
      trouble = parse_table_line(cells, record);
    }
    empty = false;
    if (trouble.empty() && record.label.empty()) trouble = "the label is empty";
    if (trouble.empty()) trouble = trouble_with(record.values, input.channels);
    if (!trouble.empty()) {
      problems.add(record.where, trouble);
    } else if (wanted_class(options, record.label)) {
      sink.add(std::move(record));
    }
  }
  if (empty) problems.add(shown, "no series in this table");
}

// With what makes it unfit for the input as its trouble.
Series checked_series(const fs::path& path, const SeriesInput& input) {
  Series series = series_of_file(path);
  if (series.trouble.empty() && series.channels != 0 && series.channels != input.channels)
    series.trouble = wrong_channels(series.channels, input);
  if (series.trouble.empty()) series.trouble = trouble_with(series.values, input.channels);
  return series;
}

// An Error says what is wrong without the file's name: who counts problems adds it.
Record read_series_file(const fs::path& path, const SeriesInput& input) {
  Series series = checked_series(path, input);
  require(series.trouble.empty(), series.trouble);
  Record record;
  record.values = std::move(series.values);
  record.values.shrink_to_fit();
  return record;
}

// The first good file says how the data is: if it has other channels than the input, that is not its own
// fault.
void require_channels(const std::vector<LabelledFile>& files, const SeriesInput& input,
                      const Problems& problems) {
  for (const LabelledFile& file : files) {
    Series series;
    try {
      series = series_of_file(file.absolute);
    } catch (const Error& error) {
      series.trouble = error.what();
    }
    if (series.trouble.empty()) {
      require(series.channels == 0 || series.channels == input.channels, file.relative, ": ",
              wrong_channels(series.channels, input), "; set input.channels to what the data has");
      if (trouble_with(series.values, input.channels).empty()) return;
    }
    if (!problems.skips()) return;  // an Error when its turn comes
  }
}

void read_class_folders(const fs::path& folder, const DataOptions& options, const SeriesInput& input,
                        RecordSink& sink, Problems& problems) {
  const std::vector<LabelledFile> files = labelled_files(folder, {".csv", ".tsv", ".npy"}, options, problems);
  require_channels(files, input, problems);
  read_files(
      files, folder, [input](const fs::path& path) { return read_series_file(path, input); }, sink, problems);
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

fs::path labels_of(const fs::path& series) {
  std::string name = series.filename().string();
  for (const char letter : {'y', 'Y'}) {
    name[0] = letter;
    std::error_code none;
    if (fs::path labels = series.parent_path() / name; fs::exists(labels, none)) {
      require_regular(labels);
      return labels;
    }
  }
  name[0] = 'y';
  fail(series.string(), ": the labels, ", name, ", are not beside it");
}

void read_arrays(const fs::path& path, const std::string& shown, Split split, const DataOptions& options,
                 const SeriesInput& input, RecordSink& sink, Problems& problems) {
  const fs::path labels_path = labels_of(path);
  NpyFile series(path), labels(labels_path);
  const auto& shape = series.shape();
  require(shape.size() == 2 || shape.size() == 3, shown, ": an array of ", shape.size(),
          " dimensions where (series, length) or (series, length, channels) is expected");
  const int64_t channels = shape.size() == 3 ? shape[2] : 1;
  require(channels == input.channels, shown, ": ", wrong_channels(channels, input),
          "; set input.channels to what the data has");
  const int64_t count = shape[0];
  require(!labels.shape().empty() && labels.shape().size() <= 2 && labels.shape()[0] == count,
          labels_path.string(), ": expected (", count, ") or (", count, ", outputs), a row for each row of ",
          shown);
  if (series.size() == 0) {
    problems.add(shown, "no series in this array");
    return;
  }

  const int64_t values = series.size() / count, outputs = labels.size() / count;
  std::vector<double> row_labels;
  for (int64_t row = 0; row < count; ++row) {
    Record record;
    record.split = split;
    record.where = shown + ":" + std::to_string(row + 1);
    series.read(values, record.values);
    row_labels.clear();
    labels.read(outputs, row_labels);
    std::string trouble = trouble_with(record.values, channels);
    for (const double label : row_labels) {
      if (trouble.empty() && !std::isfinite(label)) trouble = "the label is not a finite number";
      record.label += (record.label.empty() ? "" : " ") + printed(label);
    }
    if (trouble.empty() && outputs == 0) trouble = "the label is empty";
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

Record read_one_series(const fs::path& path, const SeriesInput& input) {
  const std::string shown = path == "-" ? "standard input" : path.string();
  Series series = checked_series(path, input);
  require(series.trouble.empty(), shown, ": ", series.trouble);
  Record record;
  record.values = std::move(series.values);
  record.where = shown;
  return record;
}

}  // namespace mega::data
