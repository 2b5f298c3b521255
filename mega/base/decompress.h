// Reading what is inside a gzip, xz or zstd file, or a plain one.
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

  // At least one byte into `into`, which is not empty; 0 at the end only.
  virtual size_t read_some(std::span<char> into) = 0;
};

// The unpacked bytes of a file; "-" is standard input. Errors call it `name`.
std::unique_ptr<ByteSource> open_source(const std::filesystem::path& path, const std::string& name);

}  // namespace mega
