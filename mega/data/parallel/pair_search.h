// What one option names of parallel text: two files, a table, or a folder of them.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "mega/config/recipe/data_options.h"
#include "mega/data/parallel/pair_text.h"
#include "mega/data/readers/folders.h"

namespace mega::data {

struct Languages {
  std::string source, target;  // as they end file names; empty where neither options nor names say
};

// What a path within the data says of its split: as all data (mega/data/readers/folders.h), and numbered sets
// as translators have them: test2016, tst2014, newstest2014, dev2010, newsdev2016.
Split split_of_pairs(const std::filesystem::path& relative);

// Two files or a table, with what its name says.
struct FoundPairs {
  PairFiles files;
  std::string name;  // within the data, without language
  Split split = Split::unknown;
};

// Finds files, and learns from their names what the languages are where nobody said it.
class PairSearch {
 public:
  // Fills in `languages`. Standard input is copied into the folder `spool`. A file of one language without
  // its counterpart, and a pipe among files, are problems.
  PairSearch(Languages& languages, const DataOptions& options, std::filesystem::path spool,
             Problems& problems)
      : languages_(languages), split_(options), spool_(std::move(spool)), problems_(problems) {}

  // The options of these names have this path, and the path of its translations or nothing.
  std::vector<FoundPairs> find(const char* option, const std::string& path, const char* target_option,
                               const std::string& target);

 private:
  using Path = std::filesystem::path;

  FoundPairs find_one(const Path& path, const Path& target, const char* target_option);
  FoundPairs find_prefix(const Path& path);
  std::vector<FoundPairs> find_in_folder(const Path& folder);
  void learn_from_folder(const Path& folder, const std::vector<Path>& files);
  Split split_of(const Path& relative) const;
  bool is_named(const std::string& ending) const;
  std::set<std::string> languages_of(const Path& stem) const;
  std::string other_language(const Path& stem, const std::string& language) const;

  Languages& languages_;
  SplitRule split_;
  Path spool_;
  Problems& problems_;
};

}  // namespace mega::data
