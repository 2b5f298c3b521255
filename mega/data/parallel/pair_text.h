// Parallel text as it stands in files: pairs of a line and its translation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mega/config/recipe/data_options.h"
#include "mega/data/corpus/file_hash.h"
#include "mega/data/record.h"

namespace mega::data {

struct Pair {
  std::string source, target;  // without line ends
};

// Two files with a line each, or one table with both.
struct PairFiles {
  std::filesystem::path source;
  std::filesystem::path target;  // empty: `source` is a table

  bool is_table() const { return target.empty(); }
};

// Which columns of a table the two sides are.
struct PairColumns {
  std::string source,
      target;  // name, or number from 1; empty: the usual names, or else the only two there are
  std::string source_language, target_language;  // which are usual names too
  Header header = Header::automatic;
  std::string delimiter;
  // What a user chooses the columns with.
  std::string source_option = "text_column", target_option = "second_column";
};

// Pairs that nobody divided, by what is in them: the same pair is always in the same part, wherever it stands
// and however often, so that nothing that is tested was trained on.
struct PairDivision {
  int64_t seed = 0;
  double valid_share = 0.0, test_share = 0.0;

  Split of(const Pair& pair) const;
};

// The text of one part.
struct PairText {
  std::string name;  // "train", "test_2016_flickr"
  std::vector<PairFiles> files;
  PairColumns columns;
  std::optional<PairDivision> division;  // of the files, `split` is taken
  Split split = Split::unknown;
  std::shared_ptr<FileHashes> hashes;  // shared by the parts

  bool empty() const { return files.empty(); }
  // Of what is in the files now and what is taken of them. Reads all of them.
  uint64_t fingerprint() const;
};

// Reads the pairs of a text one by one, in their order, with memory for a pair. Two files of which one has
// more lines are an Error that says how many each has and, where it can be told, from which line on they are
// no translations of each other. Rows of a table that are no pair are problems.
class PairReader {
 public:
  PairReader(const PairText& text, Problems& problems);
  ~PairReader();

  // False at the end.
  bool next(Pair& pair);

 private:
  class Stream;
  class TwoFiles;
  class Table;

  bool next_of_any(Pair& pair);

  const PairText& text_;
  Problems& problems_;
  size_t next_file_ = 0;
  std::unique_ptr<Stream> stream_;
};

}  // namespace mega::data
