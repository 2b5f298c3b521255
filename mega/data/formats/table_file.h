// Tables with an example a row: csv, tsv and jsonl files.
//
// csv    RFC 4180. A quote within a cell that does not begin with one is an ordinary character. Line breaks
//        within quotes become \n.
// tsv    A row is a line; tabs separate. Of the many ways in which such files are written, these can be told
//        apart without knowing the writer:
//        - A row that has the right number of cells between its tabs is divided at all of them.
//        - One with more is divided at the tabs outside of quotes, if that gives the right number; otherwise
//          a text in the last column keeps the rest of the line, tabs and all.
//        - A cell that begins and ends with a quote and has none but doubled ones between loses the outer
//          two, and the doubled become one. Any other quote is an ordinary character.
// jsonl  An object a line. Numbers, true and false count as text.
//
// A byte order mark at the start and empty lines are passed over. In csv and tsv bytes that are not UTF-8 are
// kept as they are; in JSON they are an error.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "mega/base/stream.h"
#include "mega/config/data_options.h"
#include "mega/data/record.h"

namespace mega::data {

// The endings of table files, before those that say how a file is compressed.
inline const std::vector<std::string> kTableExtensions = {".csv", ".jsonl", ".tsv"};

// A column that is wanted.
struct Column {
  std::string title;               // for messages: "label"
  std::string option;              // what a user chooses it with: "label_column"
  std::string requested;           // what the user chose: its name, or its number from 1; or nothing
  std::vector<std::string> names;  // what it is called where the user chose nothing; lower case, best first
  bool is_text = true;             // may keep the rest of a line
};

using Cells = std::vector<std::string>;

// "1.0" -> "1": some tables of whole numbers were written as floating point. Other labels lose only the space
// around them.
std::string plain_label(std::string_view label);

class TableFile {
 public:
  // Columns (from 0) in a table without header, from its first rows, all of one width of at least one;
  // {} where it cannot be said. Asked only when the user chose not all.
  using Guess = std::function<std::vector<size_t>(const std::vector<Cells>& sample)>;

  // What kind of table it is says the name's ending, or else the first line. `shown` stands for the path in
  // messages. Header::automatic takes the first row for a header if a requested name is in it, or the usual
  // names of all columns, or a usual name of the label (the last column of `columns`) of several letters.
  // Without a header a table is as wide as most of its first hundred rows.
  TableFile(const std::filesystem::path& path, std::string shown, std::vector<Column> columns, Header header,
            const Guess& guess);

  // The cells of the wanted columns in the next row, none of them empty; false at the end. Rows that have no
  // such cells are problems.
  bool next(Cells& wanted, Problems& problems);

  std::string where() const;  // of the row read last: "train.tsv:17"

 private:
  enum class Kind { unknown, csv, tsv, jsonl };
  struct Row {
    std::string text;
    int64_t line = 0;
    bool unclosed = false;  // the file ended within quotes
  };

  bool read_row(Row& row);
  // These give what is wrong with a row, or nothing.
  std::string divide(const Row& row, Cells& cells) const;
  std::string divide_tsv(const std::string& row, Cells& cells) const;
  std::string take_from_json(const std::string& text, Cells& wanted) const;

  void choose_columns(Header header, const Guess& guess);
  bool is_header(const Cells& first) const;
  void choose_by_header(const Cells& names);
  void choose_by_guess(const std::vector<Cells>& sample, const Guess& guess);
  void choose_the_only_one_left(size_t width);
  void require_distinct() const;

  LineReader lines_;
  Kind kind_;
  std::string shown_;
  std::vector<Column> columns_;
  std::deque<Row> ahead_;       // rows that were read to choose the columns
  std::vector<size_t> chosen_;  // where each of columns_ is
  size_t width_ = 0;            // cells of a row; 0 while the columns are not chosen
  bool keeps_rest_ = false;     // the last column is a wanted text
  int64_t line_ = 0;
};

}  // namespace mega::data
