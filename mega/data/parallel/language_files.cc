#include "mega/data/parallel/language_files.h"

#include <algorithm>
#include <cctype>

#include "mega/base/files/stream.h"

namespace mega::data {

namespace fs = std::filesystem;

std::string language_ending(const fs::path& path) {
  const std::string ending = without_packing(path).extension().string();
  return ending.empty() ? ending : ending.substr(1);
}

bool looks_like_language(const std::string& ending) {
  const auto letters = [](std::string_view text, auto is_one) {
    return std::all_of(text.begin(), text.end(),
                       [&](char c) { return is_one(static_cast<unsigned char>(c)) != 0; });
  };
  const std::string_view text = ending;
  if (text.size() == 2) return letters(text, islower);
  return text.size() == 5 && letters(text.substr(0, 2), islower) && (text[2] == '_' || text[2] == '-') &&
         letters(text.substr(3), isupper);
}

fs::path without_language(const fs::path& path) { return without_packing(path).replace_extension(); }

fs::path find_in_language(const fs::path& stem, const std::string& language) {
  if (language.empty()) return {};
  std::error_code none;
  for (const char* packing : {"", ".gz", ".xz", ".zst"}) {
    fs::path path = stem;
    path += "." + language + packing;
    if (fs::is_regular_file(path, none)) return path;
  }
  return {};
}

}  // namespace mega::data
