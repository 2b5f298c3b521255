// Files that come in languages: train.en and train.de.gz are one text.
#pragma once

#include <filesystem>
#include <string>

namespace mega::data {

// "en" of "train.en.gz", whatever language that is; "" where the name has no ending.
std::string language_ending(const std::filesystem::path& path);

// Whether an ending is surely a language, when nobody said which there are: two letters, and perhaps a
// region (pt_BR, zh-CN). Others have to be named.
bool looks_like_language(const std::string& ending);

// "train" of "train.en.gz".
std::filesystem::path without_language(const std::filesystem::path& path);

// The file `stem`.`language`, plain or compressed; empty where there is none.
std::filesystem::path find_in_language(const std::filesystem::path& stem, const std::string& language);

}  // namespace mega::data
