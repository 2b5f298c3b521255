// Tables with an example a row: csv, tsv and jsonl files.
//
// csv    RFC 4180, or with semicolons, tabs or bars for the commas, which is found from the first lines. A
//        quote within a cell that does not begin with one is an ordinary character. Line breaks within quotes
//        become \n.
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
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mega/base/files/stream.h"
#include "mega/config/recipe/data_options.h"
#include "mega/data/formats/csv.h"
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
  bool required = true;            // a table without it is an Error
  bool may_be_empty = false;       // an empty cell is no problem
  bool is_id = false;              // names examples, is no part of them; the last column if there is one
};

// What a column of ids is called where the user chose nothing.
inline const std::vector<std::string> kIdNames = {"id",    "_id",    "uid",        "uuid", "guid",      "idx",
                                                  "index", "row_id", "example_id", "",     "unnamed: 0"};

bool names_an_id(std::string_view name);

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
  // names of all columns, or a usual name of the label (the column that is no text) of several letters, or
  // nothing but usual names of texts and ids. Without a header a table is as wide as most of its first
  // hundred rows. `delimiter`: of csv, as in parse_delimiter.
  TableFile(const std::filesystem::path& path, std::string shown, std::vector<Column> columns, Header header,
            const Guess& guess, std::string_view delimiter = "");

  // The cells of the wanted columns in the next row, none of them empty unless it may be; false at the end. A
  // column that is not required and not there is empty. Rows that have no such cells are problems.
  bool next(Cells& wanted, Problems& problems);

  std::string where() const;  // of the row read last: "train.tsv:17"

 private:
  enum class Kind { unknown, csv, tsv, jsonl };
  struct Row {
    std::string text;
    int64_t line = 0;
    bool unclosed = false;  // the file ended within quotes
  };

  bool read_line(std::string& line);
  bool read_row(Row& row);
  void choose_delimiter(const std::string& first);
  // These give what is wrong with a row, or nothing.
  std::string divide(const Row& row, Cells& cells) const;
  std::string divide_tsv(const std::string& row, Cells& cells) const;
  std::string take_from_json(const std::string& text, Cells& wanted) const;

  void choose_columns(Header header, const Guess& guess);
  bool is_header(const Cells& first) const;
  void choose_by_header(const Cells& names);
  void choose_by_guess(const std::vector<Cells>& sample, const Guess& guess);
  void choose_the_only_one_left(size_t width, const Cells& names);  // names: of the header, if there is one
  std::span<const Column> examples_columns() const;                 // all but the id
  void require_distinct() const;
  std::string required_titles() const;  // "text and label"

  LineReader lines_;
  Kind kind_;
  std::string shown_;
  std::vector<Column> columns_;
  char delimiter_;                  // of csv; 0 while it is not known
  std::deque<std::string> unread_;  // lines that were read to find it
  int64_t number_ = 0;              // of the line read last, unread ones apart
  std::deque<Row> ahead_;           // rows that were read to choose the columns
  std::vector<size_t> chosen_;      // where each of columns_ is
  size_t width_ = 0;                // cells of a row; 0 while the columns are not chosen
  bool keeps_rest_ = false;         // the last column is a wanted text
  int64_t line_ = 0;
};

}  // namespace mega::data
