// Texts and pairs of texts: tables, or a folder per class.
#include <algorithm>
#include <set>

#include "mega/base/error.h"
#include "mega/base/files/stream.h"
#include "mega/base/strings.h"
#include "mega/data/formats/table_file.h"
#include "mega/data/readers/folders.h"
#include "mega/data/readers/read_files.h"
#include "mega/data/readers/readers.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

Column text_column(const DataOptions& options) {
  return {.title = "text",
          .option = "text_column",
          .requested = options.text_column,
          .names = {"text", "review", "sentence", "document", "content", "body", "comment", "message",
                    "tweet", "abstract", "source", "input"}};
}

Column first_column(const DataOptions& options) {
  return {.title = "first text",
          .option = "text_column",
          .requested = options.text_column,
          .names = {"text1", "text_1", "text_a", "sentence1", "sentence_1", "sentence_a", "question1",
                    "document1", "premise", "query", "first", "text"}};
}

Column second_column(const DataOptions& options) {
  return {.title = "second text",
          .option = "second_column",
          .requested = options.second_column,
          .names = {"text2", "text_2", "text_b", "sentence2", "sentence_2", "sentence_b", "question2",
                    "document2", "hypothesis", "document", "second"}};
}

Column label_column(const DataOptions& options) {
  return {.title = "label",
          .option = "label_column",
          .requested = options.label_column,
          .names = {"label", "labels", "class", "target", "sentiment", "category", "polarity", "is_duplicate",
                    "y"},
          .is_text = false};
}

Column id_column(const DataOptions& options) {
  return {.title = "id",
          .option = "id_column",
          .requested = options.id_column,
          .names = kIdNames,
          .is_text = false,
          .required = false,
          .may_be_empty = true,
          .is_id = true};
}

// Of two columns the label is the one with fewer different cells, then the one with fewer bytes, then the
// first. Three are label, id, text.
std::vector<size_t> guess_text_and_label(const std::vector<Cells>& sample) {
  const size_t width = sample[0].size();
  if (width == 3) return {2, 0};
  if (width != 2) return {};
  std::set<std::string_view> different[2];
  size_t bytes[2] = {0, 0};
  for (const Cells& row : sample) {
    for (size_t i = 0; i < 2; ++i) {
      different[i].insert(row[i]);
      bytes[i] += row[i].size();
    }
  }
  const bool label_last = different[1].size() != different[0].size()
                              ? different[1].size() < different[0].size()
                              : bytes[1] < bytes[0];
  if (label_last) return {0, 1};
  return {1, 0};
}

// label, id, id, text, text as the Long Range Arena has them; or label, text, text.
std::vector<size_t> guess_pair_and_label(const std::vector<Cells>& sample) {
  const size_t width = sample[0].size();
  if (width == 5) return {3, 4, 0};
  if (width == 3) return {1, 2, 0};
  return {};
}

// The wanted columns: the texts, the label and, where it is passed on, the id.
struct Layout {
  std::vector<Column> columns;
  size_t texts;
  TableFile::Guess guess;
};

Layout make_layout(std::vector<Column> texts, const DataOptions& options, const LabelRule& rule,
                   TableFile::Guess guess) {
  Layout layout{std::move(texts), 0, std::move(guess)};
  layout.texts = layout.columns.size();
  for (Column& text : layout.columns) text.may_be_empty = !rule.required;
  if (rule.present) {
    Column label = label_column(options);
    label.required = rule.required;
    label.may_be_empty = !rule.required;
    layout.columns.push_back(std::move(label));
  }
  if (!rule.required) layout.columns.push_back(id_column(options));
  return layout;
}

void read_table(const fs::path& path, const std::string& shown, Split split, const Layout& layout,
                const DataOptions& options, RecordSink& sink, Problems& problems) {
  TableFile table(path, shown, layout.columns, options.header, layout.guess, options.delimiter);
  const LabelRule rule = sink.labels();
  bool empty = true;
  for (Cells cells; table.next(cells, problems); empty = false) {
    Record record;
    if (rule.present) record.label = plain_label(cells[layout.texts]);
    if (!wanted_class(options, record.label)) continue;
    record.bytes = std::move(cells[0]);
    if (layout.texts == 2) record.second = std::move(cells[1]);
    if (!rule.required) record.id = std::move(cells.back());
    record.split = split;
    record.where = table.where();
    sink.add(std::move(record));
  }
  if (empty && rule.required) problems.add(shown, "no examples in this table");
}

void read_tables(const fs::path& folder, const std::vector<fs::path>& tables, const Layout& layout,
                 const DataOptions& options, RecordSink& sink, Problems& problems) {
  const SplitRule split(options);
  for (const fs::path& table : tables) {
    const fs::path relative = table.lexically_relative(folder);
    read_table(table, relative.generic_string(), split(relative), layout, options, sink, problems);
  }
}

Record read_labelled_text(const fs::path& path) {
  Record record = read_text_file(path);
  require(!record.bytes.empty(), "the text is empty");
  return record;
}

void read_file_of_rows(const fs::path& path, const Layout& layout, const DataOptions& options,
                       RecordSink& sink, Problems& problems) {
  const std::string shown = path == "-" ? "standard input" : path.filename().string();
  read_table(path, shown, Split::unknown, layout, options, sink, problems);
}

}  // namespace

Record read_text_file(const fs::path& path) {
  Record record;
  record.where = path == "-" ? "standard input" : path.string();
  record.bytes = read_stream(path);
  return record;
}

void read_text(const fs::path& path, const DataOptions& options, RecordSink& sink, Problems& problems) {
  const LabelRule rule = sink.labels();
  const Layout layout = make_layout({text_column(options)}, options, rule, guess_text_and_label);
  std::error_code none;
  if (!fs::is_directory(path, none)) return read_file_of_rows(path, layout, options, sink, problems);

  if (const auto tables = list_files(path, kTableExtensions); !tables.empty())
    return read_tables(path, tables, layout, options, sink, problems);
  const int64_t before = sink.size();
  read_files(labelled_files(path, {".txt", ""}, options, problems, rule.required), path,
             rule.required ? read_labelled_text : read_text_file, options, sink, problems);
  require(sink.size() > before || problems.count() > 0, path.string(),
          ": no examples here; expected csv, tsv or jsonl files, or a folder of .txt files for each class");
}

void read_pairs(const fs::path& path, const DataOptions& options, RecordSink& sink, Problems& problems) {
  const Layout layout = make_layout({first_column(options), second_column(options)}, options, sink.labels(),
                                    guess_pair_and_label);
  std::error_code none;
  if (!fs::is_directory(path, none)) return read_file_of_rows(path, layout, options, sink, problems);

  const auto tables = list_files(path, kTableExtensions);
  require(!tables.empty(), path.string(), ": no csv, tsv or jsonl files here");
  read_tables(path, tables, layout, options, sink, problems);
}

}  // namespace mega::data
