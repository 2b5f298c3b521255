#include "mega/data/parallel/pair_text.h"

#include <cstdio>

#include "mega/base/error.h"
#include "mega/base/files/stream.h"
#include "mega/base/hash.h"
#include "mega/base/random.h"
#include "mega/data/formats/table_file.h"
#include "mega/data/parallel/misalignment.h"
#include "mega/data/readers/folders.h"
#include "mega/text/tokenizer.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

Column side_column(const char* title, const std::string& option, const std::string& requested,
                   const std::string& language, std::vector<std::string> names) {
  if (!language.empty()) names.insert(names.begin(), lower_case(language));
  return {.title = title,
          .option = option,
          .requested = requested,
          .names = std::move(names),
          .may_be_empty = true};
}

std::vector<Column> side_columns(const PairColumns& columns) {
  return {side_column("source", columns.source_option, columns.source, columns.source_language,
                      {"source", "src", "source_text", "text", "input", "sentence1"}),
          side_column("target", columns.target_option, columns.target, columns.target_language,
                      {"target", "tgt", "target_text", "translation", "output", "sentence2", "reference"})};
}

// Without a header, two columns are source and target.
std::vector<size_t> guess_sides(const std::vector<Cells>& sample) {
  if (sample[0].size() == 2) return {0, 1};
  return {};
}

std::string shown_name(const fs::path& path) { return path.filename().string(); }

double unit_of(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace

Split PairDivision::of(const Pair& pair) const {
  const uint64_t content = hash_text(pair.target, hash_text(pair.source));
  const auto drawn = [&](const char* name) {
    return unit_of(stream_seed(static_cast<uint64_t>(seed), name, content));
  };
  if (drawn("test pairs") < test_share) return Split::test;
  return drawn("validation pairs") < valid_share ? Split::valid : Split::train;
}

uint64_t PairText::fingerprint() const {
  require(hashes != nullptr, name, ": a text that is read once has no fingerprint");
  uint64_t hash = hash_number(files.size());
  for (const PairFiles& pair : files) {
    hash = hash_number(hashes->of(pair.source), hash);
    if (!pair.is_table()) {
      hash = hash_number(hashes->of(pair.target), hash);
      continue;
    }
    hash = hash_text(extension_of(pair.source), hash);
    hash = hash_number(static_cast<uint64_t>(columns.header), hash);
    for (const std::string* text : {&columns.source, &columns.target, &columns.source_language,
                                    &columns.target_language, &columns.delimiter})
      hash = hash_text(*text, hash);
  }
  if (!division) return hash;
  char text[96];
  std::snprintf(text, sizeof text, "%lld %.17g %.17g %d", static_cast<long long>(division->seed),
                division->valid_share, division->test_share, static_cast<int>(split));
  return hash_text(text, hash);
}

class PairReader::Stream {
 public:
  virtual ~Stream() = default;
  virtual bool next(Pair& pair) = 0;
};

class PairReader::TwoFiles : public Stream {
 public:
  explicit TwoFiles(const PairFiles& files) : files_(files), source_(files.source), target_(files.target) {}

  bool next(Pair& pair) override {
    const bool more = source_.next(pair.source);
    if (target_.next(pair.target) != more) fail_misaligned(files_);
    if (source_.number() == 1)
      for (std::string* line : {&pair.source, &pair.target})
        if (line->starts_with("\xEF\xBB\xBF")) line->erase(0, 3);
    return more;
  }

 private:
  PairFiles files_;
  LineReader source_, target_;
};

class PairReader::Table : public Stream {
 public:
  Table(const PairFiles& files, const PairColumns& columns, Problems& problems)
      : table_(files.source, shown_name(files.source), side_columns(columns), columns.header, guess_sides,
               columns.delimiter),
        problems_(problems) {}

  bool next(Pair& pair) override {
    if (!table_.next(cells_, problems_)) return false;
    // A cell may have line breaks, of which a line has none.
    pair.source = as_line(cells_[0]);
    pair.target = as_line(cells_[1]);
    return true;
  }

 private:
  TableFile table_;
  Problems& problems_;
  Cells cells_;
};

PairReader::PairReader(const PairText& text, Problems& problems) : text_(text), problems_(problems) {}

PairReader::~PairReader() = default;

bool PairReader::next(Pair& pair) {
  while (next_of_any(pair))
    if (!text_.division || text_.division->of(pair) == text_.split) return true;
  return false;
}

bool PairReader::next_of_any(Pair& pair) {
  while (true) {
    if (stream_ && stream_->next(pair)) return true;
    if (next_file_ == text_.files.size()) return false;
    const PairFiles& files = text_.files[next_file_++];
    if (files.is_table())
      stream_ = std::make_unique<Table>(files, text_.columns, problems_);
    else
      stream_ = std::make_unique<TwoFiles>(files);
  }
}

}  // namespace mega::data
