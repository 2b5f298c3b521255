#include "mega/config/import/stand_in_names.h"

#include <set>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/strings.h"
#include "mega/text/tokens.h"

namespace mega {

std::vector<std::string> numbers_as_names(int64_t count) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

std::string numbers_as_words(int64_t types) {
  std::string words;
  for (int64_t token = kFirstSymbol; token < types; ++token) words += std::to_string(token) + "\n";
  return words;
}

std::vector<std::string> read_class_names(const std::filesystem::path& path, int64_t count) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const std::string& line : split(trim(read_file(path)), '\n')) {
    names.emplace_back(trim(line));
    require(!names.back().empty() && seen.insert(names.back()).second, path.string(), ":", names.size(),
            ": expected a name that no other class has, got ", in_quotes(names.back()));
  }
  require(std::ssize(names) == count, path.string(), ": has ", names.size(), " lines, expected ", count,
          ", one for each class of the model");
  return names;
}

}  // namespace mega
