// What the files of a text contain, as a number.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>

namespace mega::data {

// Reads each file once, however often it is asked for: what is in it decides, not its name, size or time.
class FileHashes {
 public:
  // Of the bytes as they stand on disk, packed or not.
  uint64_t of(const std::filesystem::path& file);

 private:
  std::map<std::filesystem::path, uint64_t> known_;
};

}  // namespace mega::data
