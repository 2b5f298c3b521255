// Writes zip archives as PyTorch does: entries stored, their contents at multiples of 64 bytes, with the
// 64-bit records of large files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "mega/base/files/file.h"

namespace mega {

class ZipWriter {
 public:
  // Written aside; the file appears with finish().
  explicit ZipWriter(const std::filesystem::path& path) : file_(path) {}

  void add(const std::string& name, std::span<const std::byte> contents);
  void add(const std::string& name, std::string_view contents) {
    add(name, std::as_bytes(std::span(contents)));
  }
  void finish();

 private:
  void write(std::string_view bytes);

  AtomicFile file_;
  uint64_t position_ = 0;
  uint64_t entries_ = 0;
  std::string directory_;
};

}  // namespace mega
