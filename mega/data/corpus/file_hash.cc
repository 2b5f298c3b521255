#include "mega/data/corpus/file_hash.h"

#include <fstream>
#include <string>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/hash.h"

namespace mega::data {
namespace {

// Not mapped: a text may be cut off by its editor while it is read.
uint64_t hash_contents(const std::filesystem::path& path) {
  require_regular(path);
  std::ifstream file(path, std::ios::binary);
  std::string piece(size_t{1} << 20, '\0');
  uint64_t hash = 0;
  do {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    hash = hash_text(std::string_view(piece).substr(0, static_cast<size_t>(file.gcount())), hash);
  } while (file);
  require(file.eof() && !file.bad(), path.string(), ": cannot be read");
  return hash;
}

}  // namespace

uint64_t FileHashes::of(const std::filesystem::path& file) {
  const auto found = known_.find(file);
  return found != known_.end() ? found->second : known_[file] = hash_contents(file);
}

}  // namespace mega::data
