#include "mega/data/corpus/text_source.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "mega/base/error.h"
#include "mega/base/hash.h"
#include "mega/base/strings.h"
#include "mega/data/corpus/standard_input.h"
#include "mega/data/readers/folders.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

// What one option names, by what the names say.
struct Found {
  std::vector<fs::path> train, valid, test, unknown;

  std::vector<fs::path>& of(Split split) {
    switch (split) {
      case Split::train:
        return train;
      case Split::valid:
        return valid;
      case Split::test:
        return test;
      case Split::unknown:
        break;
    }
    return unknown;
  }
};

std::vector<fs::path> files_of(const fs::path& path, const fs::path& spool) {
  if (path == "-") return {copy_standard_input(spool)};
  std::error_code none;
  require(fs::exists(path, none), path.string(), ": no such file or folder");
  if (!fs::is_directory(path, none)) {
    require(fs::is_regular_file(path, none), path.string(),
            ": neither a file nor a folder; a pipe is read as standard input (-)");
    return {path};
  }
  std::vector<fs::path> files = list_files(path, {});
  require(!files.empty(), path.string(), ": no files in this folder; expected texts");
  return files;
}

Found find_named(const DataOptions& options, const fs::path& spool) {
  const fs::path path = options.path;
  const SplitRule split(options);
  Found found;
  std::error_code none;
  const bool folder = fs::is_directory(path, none);
  for (const fs::path& file : files_of(path, spool))
    found.of(folder ? split(file.lexically_relative(path)) : Split::unknown).push_back(file);
  return found;
}

std::string name_of(const std::vector<fs::path>& files, const std::string& path) {
  if (path == "-") return "standard input";
  return files.size() == 1 ? files.front().filename().string() : path;
}

TextSource whole(const std::vector<fs::path>& files, const std::string& path,
                 const std::shared_ptr<FileHashes>& hashes) {
  return {files, nullptr, 0, files.empty() ? "" : name_of(files, path), hashes};
}

}  // namespace

TextRange TextDivision::piece(size_t number) {
  if (!cuts_) {
    const int64_t total = count_bytes(files_);
    const auto share = [&](double part) {
      return static_cast<int64_t>(std::llround(part * static_cast<double>(total)));
    };
    const int64_t test = std::min(share(test_share_), total);
    const int64_t valid = std::min(share(valid_share_), total - test);
    // To end with a line, a cut may take up to half of the piece that begins there.
    const auto cut = [&](int64_t target, int64_t piece) {
      constexpr int64_t kFarthest = 1 << 20;
      return piece == 0 || target == 0 ? target : find_cut(files_, target, std::min(piece / 2, kFarthest));
    };
    const int64_t test_begin = cut(total - test, test);
    const int64_t valid_begin = std::min(cut(total - test - valid, valid), test_begin);
    cuts_ = {0, valid_begin, test_begin, total};
  }
  return {files_, (*cuts_)[number], (*cuts_)[number + 1]};
}

std::string TextDivision::description() const {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g %.17g", valid_share_, test_share_);
  return text;
}

TextRange TextSource::range() const { return division ? division->piece(piece) : TextRange{files}; }

uint64_t TextSource::fingerprint() const {
  require(hashes != nullptr, name, ": a text that is read once has no fingerprint");
  uint64_t hash = hash_number(piece);
  for (const fs::path& file : files) hash = hash_number(hashes->of(file), hash);
  return division ? hash_text(division->description(), hash) : hash;
}

TextSources find_texts(const DataOptions& options, const fs::path& spool) {
  require(!options.path.empty(), "no data: name a file or folder with --data PATH");
  require((options.path == "-") + (options.valid == "-") + (options.test == "-") <= 1,
          "standard input (-) can be one of data.path, data.valid and data.test only");
  Found found = find_named(options, spool);
  const bool told = !options.valid.empty() || !options.test.empty() || !found.train.empty() ||
                    !found.valid.empty() || !found.test.empty();
  const auto hashes = std::make_shared<FileHashes>();
  const auto divided = [&](const std::vector<fs::path>& files, double test_share) {
    const auto division = std::make_shared<TextDivision>(files, options.valid_share, test_share);
    TextSources sources;
    size_t piece = 0;
    for (TextSource* source : {&sources.train, &sources.valid, &sources.test})
      *source = {files, division, piece++, name_of(files, options.path), hashes};
    return sources;
  };
  if (!told) return divided(found.unknown, options.test_share);

  const auto add = [&](std::vector<fs::path>& files, const std::string& path) {
    if (path.empty()) return;
    for (fs::path& file : files_of(path, spool)) files.push_back(std::move(file));
  };
  found.train.insert(found.train.end(), found.unknown.begin(), found.unknown.end());
  std::sort(found.train.begin(), found.train.end());
  add(found.valid, options.valid);
  add(found.test, options.test);
  TextSources sources{whole(found.train, options.path, hashes),
                      whole(found.valid, options.valid.empty() ? options.path : options.valid, hashes),
                      whole(found.test, options.test.empty() ? options.path : options.test, hashes)};
  if (!found.valid.empty() || found.train.empty()) return sources;
  const TextSources parts = divided(found.train, 0.0);
  sources.train = parts.train;
  sources.valid = parts.valid;
  return sources;
}

}  // namespace mega::data
