// Writes a file compressed according to its extension: .gz, .xz, .zst or plain.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "mega/base/files/file.h"

namespace mega {

class ByteSink {
 public:
  explicit ByteSink(const std::filesystem::path& path) : name(path.string()), file(path) {}
  virtual ~ByteSink() = default;

  // Compresses all of the bytes; `last` ends the compressed stream and is given once.
  virtual void write(std::string_view bytes, bool last) = 0;

  void commit() { file.commit(); }

 protected:
  std::string name;
  AtomicFile file;
};

std::unique_ptr<ByteSink> open_sink(const std::filesystem::path& path);

// ".gz", ".xz" or ".zst".
bool says_packed(const std::filesystem::path& ending);

}  // namespace mega
