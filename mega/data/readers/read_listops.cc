#include <algorithm>
#include <string_view>
#include <system_error>

#include "mega/base/error.h"
#include "mega/base/files/stream.h"
#include "mega/base/strings.h"
#include "mega/data/generators/listops.h"
#include "mega/data/readers/folders.h"
#include "mega/data/readers/readers.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestLine = size_t{1} << 28;

bool is_label(std::string_view text) { return text.size() == 1 && text[0] >= '0' && text[0] <= '9'; }

// "Source<TAB>Target" as Long Range Arena writes it, or "label<TAB>expression" as the first release of
// ListOps. Where both columns could be the label, the expression is that digit and both orders say the same.
// Without labels an expression may stand alone.
void read_line(std::string_view line, const std::string& where, Split split, RecordSink& sink,
               Problems& problems) {
  const size_t tab = line.find('\t');
  const bool alone = tab == std::string_view::npos;
  if (alone && sink.labels().required) {
    problems.add(where, "expected an expression, a tab and its value, found no tab");
    return;
  }
  std::string_view expression = trim(line.substr(0, tab));
  std::string_view label = alone ? std::string_view() : trim(line.substr(tab + 1));
  if (is_label(expression) && !label.empty()) std::swap(expression, label);
  if (!is_label(label) && !(label.empty() && !sink.labels().required)) {
    problems.add(where, "expected a digit as the value of the expression, got " + in_quotes(label));
    return;
  }
  if (const auto error = listops_error(expression)) {
    problems.add(where, *error);
    return;
  }
  Record record;
  record.bytes = listops_tokens(expression);
  record.label = label;
  record.split = split;
  record.where = where;
  sink.add(std::move(record));
}

void read_file(const fs::path& path, const fs::path& relative, const DataOptions& options, RecordSink& sink,
               Problems& problems) {
  const Split split = split_of(relative);
  LineReader lines(path, kLongestLine);
  std::string line;
  while (lines.next(line)) {
    const bool first = lines.number() == 1;
    if (first && options.header == Header::yes) continue;
    if (first && options.header == Header::automatic && line.starts_with("Source\t")) continue;
    const std::string_view text = trim(line);
    if (text.empty()) continue;
    read_line(text, relative.generic_string() + ":" + std::to_string(lines.number()), split, sink, problems);
  }
}

}  // namespace

void read_listops(const fs::path& path, const DataOptions& options, RecordSink& sink, Problems& problems) {
  std::error_code none;
  if (!fs::is_directory(path, none))
    return read_file(path, path == "-" ? "standard input" : path.filename(), options, sink, problems);
  const std::vector<fs::path> files = list_files(path, {".tsv"});
  require(!files.empty(), path.string(), ": no .tsv file; expected basic_train.tsv and its like");
  for (const fs::path& file : files) read_file(file, file.lexically_relative(path), options, sink, problems);
}

}  // namespace mega::data
