// Reads gzip, xz, zstd and plain files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace mega {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Reads at least one byte into `into`, which must not be empty; returns 0 only at the end.
  virtual size_t read_some(std::span<char> into) = 0;
};

// The decompressed bytes of a file; "-" is standard input. `name` is used in error messages.
std::unique_ptr<ByteSource> open_source(const std::filesystem::path& path, const std::string& name);

}  // namespace mega
