#include "mega/data/formats/table_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "mega/base/error.h"
#include "mega/base/files/json.h"
#include "mega/base/strings.h"
#include "mega/data/readers/folders.h"

namespace mega::data {
namespace {

constexpr size_t kSample = 100;  // rows that are read ahead, of not much more than so many bytes
constexpr size_t kSampleBytes = size_t{16} << 20;
constexpr size_t kLongestRow = size_t{1} << 30;
constexpr size_t kDialectLines =
    100;  // that the delimiter is found from, of not much more than so many bytes
constexpr size_t kDialectBytes = size_t{1} << 20;
constexpr size_t kNone = static_cast<size_t>(-1);

std::string counted(size_t count, const char* thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

std::string listed(const Cells& names) {
  Cells quoted;
  for (size_t i = 0; i < std::min<size_t>(names.size(), 20); ++i) quoted.push_back(in_quotes(names[i]));
  if (names.size() > quoted.size()) quoted.push_back("...");
  return join(quoted, ", ");
}

// Where a cell at the start of the text ends that is quoted as a whole, or kNone.
size_t end_of_quoted(std::string_view text) {
  if (!text.starts_with('"')) return kNone;
  for (size_t quote = text.find('"', 1); quote != std::string_view::npos; quote = text.find('"', quote + 2)) {
    if (quote + 1 == text.size() || text[quote + 1] == '\t') return quote + 1;
    if (text[quote + 1] != '"') return kNone;
  }
  return kNone;
}

void drop_quotes(std::string& cell) {
  if (end_of_quoted(cell) != cell.size()) return;
  std::string inner;
  inner.reserve(cell.size());
  for (size_t i = 1; i + 1 < cell.size(); ++i) {
    inner += cell[i];
    if (cell[i] == '"') ++i;  // of a doubled one
  }
  cell = std::move(inner);
}

// At most `most` cells, the last with the rest of the row.
void divide_at_tabs(std::string_view row, bool heed_quotes, size_t most, Cells& cells) {
  cells.clear();
  while (cells.size() + 1 < most) {
    size_t end = heed_quotes ? end_of_quoted(row) : kNone;
    if (end == kNone) end = row.find('\t');
    if (end >= row.size()) break;
    cells.emplace_back(row.substr(0, end));
    row.remove_prefix(end + 1);
  }
  cells.emplace_back(row);
}

size_t most_common_width(const std::vector<Cells>& rows) {
  std::map<size_t, int> counts;
  for (const Cells& row : rows) ++counts[row.size()];
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? 0 : most->first;
}

// The number that a user gave for a column, from 0; kNone if it is a name.
size_t as_number(const std::string& requested) {
  size_t number = 0;
  const char* end = requested.data() + requested.size();
  const auto [stop, error] = std::from_chars(requested.data(), end, number);
  return error == std::errc() && stop == end && number > 0 ? number - 1 : kNone;
}

size_t find_name(const Cells& header, const std::string& name) {
  const auto found = std::find(header.begin(), header.end(), name);
  return found == header.end() ? kNone : static_cast<size_t>(found - header.begin());
}

// Whether a column that was looked for in vain is just not there: the user said which one it is.
bool is_known_missing(const Column& column) { return !column.required && !column.requested.empty(); }

std::string usual_form(std::string_view name) { return lower_case(trim(name)); }

// The first of the column's usual names that is in the header, or kNone.
size_t find_usual(const Cells& header, const Column& column) {
  Cells lower;
  for (const std::string& name : header) lower.push_back(usual_form(name));
  for (const std::string& name : column.names) {
    if (const size_t found = find_name(lower, name); found != kNone) return found;
  }
  return kNone;
}

}  // namespace

std::string plain_label(std::string_view label) {
  constexpr double kLargest = 1e15;  // whole numbers up to here are exact
  label = trim(label);
  double number = 0;
  const char* end = label.data() + label.size();
  const auto [stop, error] = std::from_chars(label.data(), end, number);
  const bool whole =
      error == std::errc() && stop == end && std::abs(number) < kLargest && number == std::floor(number);
  if (!whole || label.find('.') == std::string_view::npos) return std::string(label);
  return std::to_string(static_cast<int64_t>(number));
}

bool names_an_id(std::string_view name) {
  const std::string lower = usual_form(name);
  return std::find(kIdNames.begin(), kIdNames.end(), lower) != kIdNames.end();
}

TableFile::TableFile(const std::filesystem::path& path, std::string shown, std::vector<Column> columns,
                     Header header, const Guess& guess, std::string_view delimiter)
    : lines_(path),
      shown_(std::move(shown)),
      columns_(std::move(columns)),
      delimiter_(parse_delimiter(delimiter)) {
  const std::string extension = extension_of(path);
  kind_ = extension == ".csv"     ? Kind::csv
          : extension == ".tsv"   ? Kind::tsv
          : extension == ".jsonl" ? Kind::jsonl
                                  : Kind::unknown;
  if (delimiter_ != 0 && kind_ != Kind::jsonl && !(delimiter_ == '\t' && kind_ == Kind::tsv))
    kind_ = Kind::csv;
  size_t bytes = 0;
  for (Row row; ahead_.size() < kSample && bytes < kSampleBytes && read_row(row);) {
    bytes += row.text.size();
    ahead_.push_back(std::move(row));
  }
  if (kind_ != Kind::jsonl && !ahead_.empty()) choose_columns(header, guess);
}

std::string TableFile::where() const { return shown_ + ":" + std::to_string(line_); }

bool TableFile::next(Cells& wanted, Problems& problems) {
  Cells cells;
  Row row;
  while (true) {
    if (!ahead_.empty()) {
      row = std::move(ahead_.front());
      ahead_.pop_front();
    } else if (!read_row(row)) {
      return false;
    }
    line_ = row.line;

    std::string trouble;
    if (kind_ == Kind::jsonl) {
      trouble = take_from_json(row.text, wanted);
    } else {
      trouble = divide(row, cells);
      if (trouble.empty() && width_ == 0) trouble = "too many rows before it are broken to tell the columns";
      if (trouble.empty()) {
        wanted.assign(chosen_.size(), {});
        for (size_t i = 0; i < chosen_.size(); ++i)
          if (chosen_[i] != kNone) wanted[i] = std::move(cells[chosen_[i]]);
      }
    }
    for (size_t i = 0; trouble.empty() && i < columns_.size(); ++i) {
      if (!columns_[i].may_be_empty && trim(wanted[i]).empty())
        trouble = "the " + columns_[i].title + " is empty";
    }
    if (trouble.empty()) return true;
    problems.add(where(), trouble);
  }
}

bool TableFile::read_line(std::string& line) {
  if (!unread_.empty()) {
    line = std::move(unread_.front());
    unread_.pop_front();
  } else if (!lines_.next(line)) {
    return false;
  }
  if (++number_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
  return true;
}

// The rows of csv begin with this one.
void TableFile::choose_delimiter(const std::string& first) {
  std::vector<std::string> sample = {first};
  size_t bytes = first.size();
  for (std::string line; sample.size() < kDialectLines && bytes < kDialectBytes && lines_.next(line);) {
    bytes += line.size();
    unread_.push_back(line);
    if (!line.empty()) sample.push_back(std::move(line));
  }
  delimiter_ = find_delimiter(sample);
}

bool TableFile::read_row(Row& row) {
  do {
    if (!read_line(row.text)) return false;
  } while (row.text.empty());
  row.line = number_;

  if (kind_ == Kind::unknown) {
    kind_ = row.text.starts_with('{')                  ? Kind::jsonl
            : row.text.find('\t') != std::string::npos ? Kind::tsv
                                                       : Kind::csv;
  }
  if (kind_ != Kind::csv) return true;
  if (delimiter_ == 0) choose_delimiter(row.text);
  row.unclosed = quotes_open(row.text, false, delimiter_);
  for (std::string line; row.unclosed && read_line(line);) {
    require(row.text.size() + line.size() < kLongestRow, shown_, ":", row.line,
            ": a quote is not closed within ", human_bytes(kLongestRow));
    row.text += '\n';
    row.text += line;
    row.unclosed = quotes_open(line, true, delimiter_);
  }
  return true;
}

std::string TableFile::divide(const Row& row, Cells& cells) const {
  if (row.unclosed) {
    return "a quote is opened in this row and never closed; everything to the end of the file is lost";
  }
  if (kind_ == Kind::tsv) return divide_tsv(row.text, cells);
  std::string trouble = divide_csv(row.text, delimiter_, cells);
  if (trouble.empty() && width_ > 0 && cells.size() != width_) {
    trouble = counted(cells.size(), "column") + " where " + std::to_string(width_) +
              " are expected; a text with " + (delimiter_ == ',' ? "commas" : in_quotes({&delimiter_, 1})) +
              " needs quotes around it";
  }
  return trouble;
}

std::string TableFile::divide_tsv(const std::string& row, Cells& cells) const {
  const size_t found = 1 + static_cast<size_t>(std::count(row.begin(), row.end(), '\t'));
  cells.clear();
  if (width_ == 0 && found > kMostColumns) return "more than " + counted(kMostColumns, "column");
  if (width_ == 0 || found == width_) {
    divide_at_tabs(row, false, found, cells);
  } else if (found > width_) {
    divide_at_tabs(row, true, width_ + 1, cells);
    if (cells.size() != width_ && keeps_rest_) divide_at_tabs(row, false, width_, cells);
  }
  if (width_ > 0 && cells.size() != width_) {
    return counted(found, "column") + " where " + std::to_string(width_) +
           " are expected; a tab or a line break in a text?";
  }
  std::for_each(cells.begin(), cells.end(), drop_quotes);
  return {};
}

std::string TableFile::take_from_json(const std::string& text, Cells& wanted) const {
  nlohmann::json object;
  try {
    object = parse_json(text, where());
  } catch (const Error& error) {
    return std::string(error.what()).substr(where().size() + 2);  // problems say where by themselves
  }
  if (!object.is_object()) return "not a JSON object";

  Cells keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  wanted.resize(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    const size_t key =
        column.requested.empty() ? find_usual(keys, column) : find_name(keys, column.requested);
    if (key == kNone && !column.required) {
      wanted[i].clear();
      continue;
    }
    if (key == kNone) {
      return "which is the " + column.title + "? There are " + listed(keys) + "; set " + column.option;
    }
    auto& value = object[keys[key]];
    if (value.is_null() && column.may_be_empty) {
      wanted[i].clear();
      continue;
    }
    if (value.is_null() || (value.is_structured() && column.required))
      return in_quotes(keys[key]) + " is neither text nor a number";
    wanted[i] = value.is_string() ? std::move(value.get_ref<std::string&>()) : value.dump();
  }
  return {};
}

void TableFile::choose_columns(Header header, const Guess& guess) {
  Cells cells;
  const bool readable = divide(ahead_.front(), cells).empty();
  require(readable || header != Header::yes, shown_, ":", ahead_.front().line, ": not a readable header");
  if (header == Header::yes || (header == Header::automatic && readable && is_header(cells))) {
    ahead_.pop_front();
    choose_by_header(cells);
    width_ = cells.size();
  } else {
    std::vector<Cells> sample;
    for (const Row& row : ahead_) {
      if (divide(row, cells).empty()) sample.push_back(cells);
    }
    const size_t width = most_common_width(sample);
    std::erase_if(sample, [width](const Cells& row) { return row.size() != width; });
    if (sample.empty()) return;  // every row is a problem, and says so when its turn comes
    choose_by_guess(sample, guess);
    width_ = width;
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    keeps_rest_ = keeps_rest_ || (columns_[i].is_text && chosen_[i] != kNone && chosen_[i] + 1 == width_);
  }
}

bool TableFile::is_header(const Cells& first) const {
  bool all = true;
  for (const Column& column : examples_columns()) {
    const bool by_name = !column.requested.empty() && find_name(first, column.requested) != kNone;
    if (by_name && as_number(column.requested) == kNone) return true;
    all = all && (by_name || find_usual(first, column) != kNone);
  }
  if (all) return true;
  // "y" by itself may well be somebody's label; "label" is none.
  for (const Column& column : columns_) {
    if (column.is_text || column.is_id) continue;
    const size_t label = find_usual(first, column);
    if (label != kNone && trim(first[label]).size() > 1) return true;
  }
  // Names of texts and ids alone: a table without labels.
  const auto names_a_text = [&](const std::string& cell) {
    return std::any_of(columns_.begin(), columns_.end(), [&](const Column& column) {
      return column.is_text && find_usual({cell}, column) != kNone;
    });
  };
  return std::any_of(first.begin(), first.end(), names_a_text) &&
         std::all_of(first.begin(), first.end(),
                     [&](const std::string& cell) { return names_an_id(cell) || names_a_text(cell); });
}

std::span<const Column> TableFile::examples_columns() const {
  return std::span(columns_).first(columns_.size() - (!columns_.empty() && columns_.back().is_id ? 1 : 0));
}

void TableFile::choose_by_header(const Cells& names) {
  for (const Column& column : columns_) {
    size_t at = kNone;
    if (column.requested.empty()) {
      at = find_usual(names, column);
      if (column.is_id && std::count(chosen_.begin(), chosen_.end(), at) > 0) at = kNone;
    } else {
      at = find_name(names, column.requested);
      if (at == kNone) at = as_number(column.requested);
      const std::string meant = nearest(column.requested, names);
      if (at >= names.size() && !column.required) at = kNone;
      require(at < names.size() || !column.required, shown_, ": no column ", in_quotes(column.requested),
              " (", column.option, ") among ", listed(names),
              meant.empty() ? "" : "; did you mean " + in_quotes(meant) + "?");
    }
    if (at != kNone && at != as_number(column.requested) && !column.is_id) {
      require(std::count(names.begin(), names.end(), names[at]) == 1, shown_, ": two columns are called ",
              in_quotes(names[at]), "; set ", column.option, " to the number of the right one");
    }
    chosen_.push_back(at);
  }
  choose_the_only_one_left(names.size(), names);
  for (size_t i = 0; i < columns_.size(); ++i) {
    require(chosen_[i] != kNone || !columns_[i].required, shown_, ": which column is the ", columns_[i].title,
            "? There are ", listed(names), "; set ", columns_[i].option);
  }
  require_distinct();
}

void TableFile::choose_by_guess(const std::vector<Cells>& sample, const Guess& guess) {
  const size_t width = sample[0].size();
  for (const Column& column : columns_) {
    size_t at = as_number(column.requested);
    if (at >= width && !column.required) at = kNone;
    require(at != kNone || column.requested.empty() || !column.required, shown_, ": no column ",
            in_quotes(column.requested), " (", column.option, ") in the first line, which has ",
            listed(sample[0]));
    require(at == kNone || at < width, shown_, ": ", column.option, " = ", column.requested, ", but there ",
            width == 1 ? "is only " : "are only ", counted(width, "column"));
    chosen_.push_back(at);
  }
  choose_the_only_one_left(width, {});
  const auto needed = static_cast<size_t>(
      std::count_if(columns_.begin(), columns_.end(), [](const Column& column) { return column.required; }));
  const bool has_needed_alone = needed == width && needed < examples_columns().size();
  if (has_needed_alone) {
    for (size_t i = 0; i < needed; ++i)
      if (chosen_[i] == kNone) chosen_[i] = i;
  } else if (std::count(chosen_.begin(), chosen_.end(), kNone) > 0) {
    const std::vector<size_t> guessed = guess(sample);
    for (size_t i = 0; i < examples_columns().size(); ++i) {
      if (chosen_[i] != kNone || is_known_missing(columns_[i])) continue;
      if (!columns_[i].required && guessed.empty()) continue;
      require(width >= needed, shown_, ": there is only ", counted(width, "column"), ", but ",
              required_titles(), " are needed");
      require(!guessed.empty(), shown_, ": which column is the ", columns_[i].title, "? There ",
              width == 1 ? "is " : "are ", counted(width, "column"), " and no header; set ",
              columns_[i].option);
      chosen_[i] = guessed[i];
    }
  }
  require_distinct();
}

// Where every column is wanted and all but one are known, the last is what is missing, unless its name is
// that of an id.
void TableFile::choose_the_only_one_left(size_t width, const Cells& names) {
  const size_t wanted = examples_columns().size();
  const std::span chosen = std::span(chosen_).first(wanted);
  if (width != wanted || std::count(chosen.begin(), chosen.end(), kNone) != 1) return;
  size_t left = 0;
  while (std::count(chosen.begin(), chosen.end(), left) > 0) ++left;
  const auto missing = std::find(chosen.begin(), chosen.end(), kNone);
  if (is_known_missing(columns_[static_cast<size_t>(missing - chosen.begin())])) return;
  if (names.empty() || !names_an_id(names[left])) *missing = left;
}

std::string TableFile::required_titles() const {
  std::string titles;
  for (const Column& column : columns_)
    if (column.required) titles += (titles.empty() ? "" : " and ") + column.title;
  return titles;
}

void TableFile::require_distinct() const {
  for (size_t i = 0; i < chosen_.size(); ++i) {
    for (size_t j = i + 1; j < chosen_.size(); ++j) {
      require(chosen_[i] == kNone || chosen_[i] != chosen_[j], shown_, ": column ", chosen_[i] + 1,
              " would be both ", columns_[i].title, " and ", columns_[j].title, "; set ", columns_[i].option,
              " and ", columns_[j].option);
    }
  }
}

}  // namespace mega::data
