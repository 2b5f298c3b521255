// Folders of examples: which files are in them, and what their names say about label and split.
#pragma once

#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "mega/config/recipe/data_options.h"
#include "mega/data/record.h"

namespace mega::data {

// ASCII letters in lower case, in which names are compared.
std::string lower_case(std::string_view text);

// ".csv" of "Reviews.CSV.gz": in lower case, however the file is compressed.
std::string extension_of(const std::filesystem::path& path);

// The files below the folder in the order of the bytes of their path. `extensions` are lower case with their
// dot (".png"), "" is a file without one, an empty list takes all. Hidden files and folders are passed over.
// Links are followed, but no folder is entered twice. Pipes, sockets and devices are no files; `others`,
// where given, gets them.
std::vector<std::filesystem::path> list_files(const std::filesystem::path& folder,
                                              const std::vector<std::string>& extensions,
                                              std::vector<std::filesystem::path>* others = nullptr);

// What one word, in any case, says: train; valid, val, validation, dev, eval; test, t10k.
Split split_named(std::string_view word);

// What a path within the data says: the first folder from the root that is named after a split, or else the
// first such word in the file's name ("basic_train.tsv", "t10k-images"). "testing" and "contest" say nothing.
Split split_of(const std::filesystem::path& relative);

// What the user's options add to that: files that match options.test_pattern are for testing, and then all
// others for training unless their path says otherwise.
class SplitRule {
 public:
  explicit SplitRule(const DataOptions& options);
  Split operator()(const std::filesystem::path& relative) const;

 private:
  std::optional<std::regex> test_;
};

// Whether options.classes, if there are any, name the label.
bool wanted_class(const DataOptions& options, const std::string& label);

struct LabelledFile {
  std::filesystem::path absolute;
  std::string relative;  // to the folder with the data, with slashes
  std::string label;
  Split split = Split::unknown;
};

// What a path within the data says of label and split, as labelled_files() has it.
class PathLabels {
 public:
  PathLabels(const DataOptions& options, Problems& problems, bool required);

  // Sets label and split of a file by its relative path. False where it is none of the examples; one without
  // a label that should have one is a problem.
  bool describe(LabelledFile& file);

 private:
  const DataOptions& options_;
  Problems& problems_;
  bool required_;
  std::optional<std::regex> pattern_;
  SplitRule split_;
};

// The files of a folder per class, in the order of list_files. The label is the name of the nearest folder
// around a file that is not named after a split, or the first group of options.label_pattern in the relative
// path. With options.classes, other classes are left out. A pipe, socket or device is a problem. What
// aclImdb's authors put beside the examples is passed over: train/unsup, lists of addresses, README. A file
// without a label is a problem, or has none where labels are not required.
std::vector<LabelledFile> labelled_files(const std::filesystem::path& folder,
                                         const std::vector<std::string>& extensions,
                                         const DataOptions& options, Problems& problems,
                                         bool labels_required = true);

}  // namespace mega::data
