#include "mega/data/readers/folders.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <set>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/files/stream.h"
#include "mega/base/strings.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

bool has_extension(const fs::path& path, const std::vector<std::string>& extensions) {
  if (extensions.empty()) return true;
  return std::find(extensions.begin(), extensions.end(), extension_of(path)) != extensions.end();
}

void sort_by_bytes(std::vector<fs::path>& paths) {
  std::sort(paths.begin(), paths.end(),
            [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
}

bool is_special(fs::file_type type) {
  return type == fs::file_type::fifo || type == fs::file_type::socket || type == fs::file_type::block ||
         type == fs::file_type::character;
}

// What is below a folder.
class Listing {
 public:
  explicit Listing(const std::vector<std::string>& extensions) : extensions_(extensions) {}

  // Level by level, sorted, so that of two links to one folder always the same is entered.
  void add(const fs::path& folder) {
    if (!enter(folder)) return;
    std::vector<fs::path> folders;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (entry.path().filename().native().starts_with('.')) continue;
      std::error_code broken_link;
      const fs::file_type type = entry.status(broken_link).type();
      if (type == fs::file_type::directory)
        folders.push_back(entry.path());
      else if (type == fs::file_type::regular && has_extension(entry.path(), extensions_))
        files.push_back(entry.path());
      else if (is_special(type) && has_extension(entry.path(), extensions_))
        others.push_back(entry.path());
    }
    sort_by_bytes(folders);
    for (const fs::path& inner : folders) add(inner);
  }

  std::vector<fs::path> files, others;

 private:
  // False if it was entered before, whatever its name then. (Its canonical path would have to be worked out
  // for each level anew, from the root on.)
  bool enter(const fs::path& folder) {
    struct stat status {};
    if (::stat(folder.c_str(), &status) != 0)
      throw fs::filesystem_error("stat", folder, std::error_code(errno, std::generic_category()));
    return entered_.emplace(status.st_dev, status.st_ino).second;
  }

  const std::vector<std::string>& extensions_;
  std::set<std::pair<dev_t, ino_t>> entered_;
};

std::optional<std::regex> compiled(const std::string& pattern, const char* option) {
  if (pattern.empty()) return std::nullopt;
  try {
    return std::regex(pattern, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    fail(option, " = ", in_quotes(pattern), " is not a regular expression: ", error.what());
  }
}

bool search(const std::string& text, std::smatch& match, const std::regex& pattern, const char* option) {
  try {
    return std::regex_search(text, match, pattern);
  } catch (const std::regex_error& error) {
    fail(option, " cannot be tried on ", in_quotes(text), ": ", error.what(), "; use a simpler one");
  }
}

// Of the folders around a file, the nearest that can be a class; "" where there is none.
std::string class_folder(const fs::path& relative) {
  std::string nearest;
  for (const fs::path& folder : relative.parent_path())
    if (split_named(folder.native()) == Split::unknown) nearest = folder.native();
  return nearest;
}

// Texts that stand beside the class folders and are no examples.
bool is_about_the_data(const fs::path& relative) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "readme", "license", "imdber.txt", "urls_pos.txt", "urls_neg.txt", "urls_unsup.txt"};
  const std::string name = lower_case(relative.filename().string());
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() || name.starts_with("readme.") ||
         name.starts_with("license.");
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string extension_of(const fs::path& path) {
  return lower_case(without_packing(path).extension().string());
}

std::vector<fs::path> list_files(const fs::path& folder, const std::vector<std::string>& extensions,
                                 std::vector<fs::path>* others) {
  std::error_code none;
  require(fs::exists(folder, none), folder.string(), ": no such folder");
  require(fs::is_directory(folder, none), folder.string(), ": not a folder");
  Listing listing(extensions);
  try {
    listing.add(folder);
  } catch (const fs::filesystem_error& error) {
    fail(error.path1().string(), ": cannot be listed: ", error.code().message());
  }
  // All share the folder as their beginning, so this is the order of the relative paths.
  sort_by_bytes(listing.files);
  sort_by_bytes(listing.others);
  if (others != nullptr) *others = std::move(listing.others);
  return std::move(listing.files);
}

Split split_named(std::string_view word) {
  const std::string name = lower_case(word);
  if (name == "train") return Split::train;
  for (const char* valid : {"valid", "val", "validation", "dev", "eval"}) {
    if (name == valid) return Split::valid;
  }
  if (name == "test" || name == "t10k") return Split::test;
  return Split::unknown;
}

Split split_of(const fs::path& relative) {
  for (const fs::path& folder : relative.parent_path()) {
    if (const Split split = split_named(folder.string()); split != Split::unknown) return split;
  }
  std::string name = relative.filename().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '.' || c == '_' || c == '-'; }, ' ');
  for (const std::string& word : split(name, ' ')) {
    if (const Split split = split_named(word); split != Split::unknown) return split;
  }
  return Split::unknown;
}

SplitRule::SplitRule(const DataOptions& options) : test_(compiled(options.test_pattern, "test_pattern")) {}

Split SplitRule::operator()(const fs::path& relative) const {
  std::smatch match;
  const std::string name = relative.generic_string();
  if (test_ && search(name, match, *test_, "test_pattern")) return Split::test;
  const Split split = split_of(relative);
  return test_ && split == Split::unknown ? Split::train : split;
}

bool wanted_class(const DataOptions& options, const std::string& label) {
  const auto& classes = options.classes;
  return classes.empty() || std::find(classes.begin(), classes.end(), label) != classes.end();
}

PathLabels::PathLabels(const DataOptions& options, Problems& problems, bool required)
    : options_(options),
      problems_(problems),
      required_(required),
      pattern_(compiled(options.label_pattern, "label_pattern")),
      split_(options) {
  require(!pattern_ || pattern_->mark_count() > 0, "label_pattern = ", in_quotes(options.label_pattern),
          " has no group; put the part that is the label in ( )");
}

bool PathLabels::describe(LabelledFile& file) {
  const fs::path relative = file.relative;
  file.split = split_(relative);
  if (pattern_) {
    std::smatch match;
    if (search(file.relative, match, *pattern_, "label_pattern")) file.label = match[1];
    if (file.label.empty() && required_) {
      problems_.add(file.relative, "label_pattern finds no label in this path");
      return false;
    }
  } else {
    if (file.relative.starts_with("train/unsup/")) return false;
    file.label = class_folder(relative);
    if (file.label.empty()) {
      if (is_about_the_data(relative)) return false;
      if (required_) {
        problems_.add(file.relative, "not in a folder of a class; move it into one, or set label_pattern");
        return false;
      }
    }
  }
  return wanted_class(options_, file.label);
}

std::vector<LabelledFile> labelled_files(const fs::path& folder, const std::vector<std::string>& extensions,
                                         const DataOptions& options, Problems& problems,
                                         bool labels_required) {
  PathLabels labels(options, problems, labels_required);
  std::vector<LabelledFile> files;
  std::vector<fs::path> others;
  for (fs::path& path : list_files(folder, extensions, &others)) {
    LabelledFile file;
    file.relative = path.lexically_relative(folder).generic_string();
    file.absolute = std::move(path);
    if (labels.describe(file)) files.push_back(std::move(file));
  }
  for (const fs::path& other : others)
    problems.add(other.lexically_relative(folder).generic_string(),
                 "is a pipe, a socket or a device, expected a file");
  return files;
}

}  // namespace mega::data
