#include "mega/data/parallel/pair_search.h"

#include <algorithm>
#include <map>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/files/stream.h"
#include "mega/base/strings.h"
#include "mega/data/corpus/standard_input.h"
#include "mega/data/formats/table_file.h"
#include "mega/data/parallel/language_files.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

bool has_table_name(const fs::path& path) {
  const std::string extension = extension_of(path);
  return std::find(kTableExtensions.begin(), kTableExtensions.end(), extension) != kTableExtensions.end();
}

// Whether the first line is one of a table: has a tab, or is a JSON object.
bool begins_like_table(const fs::path& path) {
  constexpr size_t kLooked = size_t{1} << 16;
  std::string beginning(kLooked, '\0');
  InputStream stream(path);
  beginning.resize(stream.read(beginning));
  const std::string_view line = std::string_view(beginning).substr(0, beginning.find('\n'));
  return line.starts_with('{') || line.find('\t') != std::string_view::npos;
}

[[noreturn]] void fail_unknown_direction(const fs::path& path, const std::set<std::string>& endings) {
  const std::vector<std::string> names(endings.begin(), endings.end());
  fail(path.string(), ": there is text in ", join(names, ", "),
       "; which to translate into which say input.source_language and input.target_language");
}

void require_file(const fs::path& path) {
  std::error_code none;
  require(fs::exists(path, none), path.string(), ": no such file or folder");
  require(fs::is_regular_file(path, none), path.string(),
          ": not a file; a pipe is read as standard input (-), with both sides in columns");
}

// A language that nobody named.
void learn(std::string& language, const fs::path& path) {
  const std::string ending = language_ending(path);
  if (language.empty() && looks_like_language(ending)) language = ending;
}

}  // namespace

Split split_of_pairs(const fs::path& relative) {
  if (const Split split = split_of(relative); split != Split::unknown) return split;
  std::string name = lower_case(relative.filename().string());
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '.' || c == '_' || c == '-'; }, ' ');
  for (const std::string& whole : split(name, ' ')) {
    const std::string word = whole.substr(0, whole.find_last_not_of("0123456789") + 1);
    if (word == "newstest" || word == "tst") return Split::test;
    if (word == "newsdev") return Split::valid;
    if (const Split split = split_named(word); split != Split::unknown) return split;
  }
  return Split::unknown;
}

std::vector<FoundPairs> PairSearch::find(const char* option, const std::string& path,
                                         const char* target_option, const std::string& target) {
  std::error_code none;
  const bool folder = fs::is_directory(path, none);
  require(target.empty() || (path != "-" && !folder), target_option, " = ", in_quotes(target),
          " is the translation of a file, but ", option, " = ", in_quotes(path), " is ",
          folder ? "a folder" : "standard input");
  if (path == "-") return {{{copy_standard_input(spool_), {}}, "standard input"}};
  if (folder) return find_in_folder(path);
  return {find_one(path, target, target_option)};
}

FoundPairs PairSearch::find_one(const fs::path& path, const fs::path& target, const char* target_option) {
  std::error_code none;
  if (!target.empty()) {
    for (const fs::path& file : {path, target}) require_file(file);
    learn(languages_.source, path);
    learn(languages_.target, target);
    return {{path, target}, path.filename().string()};
  }
  if (!fs::exists(path, none)) return find_prefix(path);
  require_file(path);
  if (has_table_name(path)) return {{path, {}}, path.filename().string()};

  const std::string ending = language_ending(path);
  const bool is_source = languages_.source.empty()
                             ? looks_like_language(ending) && ending != languages_.target
                             : ending == languages_.source;
  if (is_source) {
    const fs::path stem = without_language(path);
    const std::string other = other_language(stem, ending);
    if (const fs::path counterpart = find_in_language(stem, other); !counterpart.empty()) {
      languages_ = {ending, other};
      return {{path, counterpart}, stem.filename().string()};
    }
  }
  require(begins_like_table(path), path.string(),
          ": one side of parallel text, and no file beside it has the other: name it with ", target_option,
          ", or the languages with input.source_language and input.target_language");
  return {{path, {}}, path.filename().string()};
}

// The beginning of two names.
FoundPairs PairSearch::find_prefix(const fs::path& path) {
  const std::set<std::string> endings = languages_of(path);
  require(!endings.empty(), path.string(), ": no such file or folder");
  if (languages_.source.empty() && languages_.target.empty()) fail_unknown_direction(path, endings);
  if (languages_.source.empty()) languages_.source = other_language(path, languages_.target);
  if (languages_.target.empty()) languages_.target = other_language(path, languages_.source);
  const PairFiles files{find_in_language(path, languages_.source), find_in_language(path, languages_.target)};
  const std::vector<std::string> names(endings.begin(), endings.end());
  require(!files.source.empty() && !files.target.empty(), path.string(), ": there is text in ",
          join(names, ", "), ", but not in both ", in_quotes(languages_.source), " and ",
          in_quotes(languages_.target));
  return {files, path.filename().string()};
}

std::vector<FoundPairs> PairSearch::find_in_folder(const fs::path& folder) {
  std::vector<fs::path> others;
  const std::vector<fs::path> files = list_files(folder, {}, &others);
  learn_from_folder(folder, files);
  const auto relative = [&](const fs::path& path) { return path.lexically_relative(folder); };
  const auto is_side = [&](const fs::path& path) { return is_named(language_ending(path)); };

  struct Sides {
    fs::path source, target;
  };
  std::map<std::string, Sides> sides;  // by their name without language
  std::vector<FoundPairs> found;
  for (const fs::path& file : files) {
    if (is_side(file)) {
      Sides& both = sides[without_language(relative(file)).generic_string()];
      fs::path& side = language_ending(file) == languages_.source ? both.source : both.target;
      if (side.empty())
        side = file;
      else
        problems_.add(relative(file).generic_string(), "is there twice, as " + side.filename().string());
    } else if (has_table_name(file)) {
      found.push_back({{file, {}}, relative(file).generic_string(), split_of(relative(file))});
    }
  }
  for (const fs::path& other : others)
    if (is_side(other) || has_table_name(other))
      problems_.add(relative(other).generic_string(), "is a pipe, a socket or a device, expected a file");
  for (const auto& [name, both] : sides) {
    if (both.source.empty() || both.target.empty()) {
      const std::string& missing = both.source.empty() ? languages_.source : languages_.target;
      problems_.add(relative(both.source.empty() ? both.target : both.source).generic_string(),
                    "has no counterpart " + fs::path(name).filename().string() + "." + missing);
      continue;
    }
    found.push_back({{both.source, both.target}, name, split_of(name)});
  }
  std::sort(found.begin(), found.end(),
            [](const FoundPairs& a, const FoundPairs& b) { return a.name < b.name; });
  require(!found.empty(), folder.string(), ": no parallel text here; expected files like ",
          languages_.source.empty() ? "train.en and train.de"
                                    : "train." + languages_.source + " and train." + languages_.target,
          ", or tsv, csv or jsonl tables");
  return found;
}

// Of a folder's languages, those that nobody named.
void PairSearch::learn_from_folder(const fs::path& folder, const std::vector<fs::path>& files) {
  if (!languages_.source.empty() && !languages_.target.empty()) return;
  std::map<std::string, std::set<std::string>> endings;  // of each name
  for (const fs::path& file : files)
    if (const std::string ending = language_ending(file); looks_like_language(ending) || is_named(ending))
      endings[without_language(file).string()].insert(ending);
  std::set<std::string> paired;
  for (const auto& [name, some] : endings)
    if (some.size() > 1) paired.insert(some.begin(), some.end());
  if (paired.empty()) return;  // tables
  std::string& missing = languages_.source.empty() ? languages_.source : languages_.target;
  paired.erase(languages_.source);
  paired.erase(languages_.target);
  if (languages_.source.empty() == languages_.target.empty() || paired.size() != 1)
    fail_unknown_direction(folder, paired);
  missing = *paired.begin();
}

// The other language that a text is there in, if it can be only one.
std::string PairSearch::other_language(const fs::path& stem, const std::string& language) const {
  const std::string& named = language == languages_.target ? languages_.source : languages_.target;
  if (!named.empty()) return named;
  std::set<std::string> endings = languages_of(stem);
  endings.erase(language);
  if (endings.size() > 1) fail_unknown_direction(stem, endings);
  return endings.empty() ? "" : *endings.begin();
}

bool PairSearch::is_named(const std::string& ending) const {
  return !ending.empty() && (ending == languages_.source || ending == languages_.target);
}

// The languages of the files whose name begins with `stem`.
std::set<std::string> PairSearch::languages_of(const fs::path& stem) const {
  std::set<std::string> endings;
  std::error_code none;
  const fs::path folder = stem.has_parent_path() ? stem.parent_path() : fs::path(".");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none))
    if (without_language(entry.path()).filename() == stem.filename())
      if (std::string ending = language_ending(entry.path()); looks_like_language(ending) || is_named(ending))
        endings.insert(std::move(ending));
  return endings;
}

Split PairSearch::split_of(const fs::path& relative) const {
  const Split split = split_(relative);
  return split == Split::unknown ? split_of_pairs(relative) : split;
}

}  // namespace mega::data
