// A file for readers that take a path, in memory where the system has a folder for that.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

namespace mega::testing {

class ScratchFile {
 public:
  // `extension` as in ".csv".
  explicit ScratchFile(const std::string& extension) {
    const std::filesystem::path memory = "/dev/shm";
    path_ = std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path();
    path_ /= "mega_fuzz_" + std::to_string(::getpid()) + extension;
  }
  ~ScratchFile() {
    std::error_code none;
    std::filesystem::remove(path_, none);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::filesystem::path& write(std::span<const uint8_t> bytes) const {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path_;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace mega::testing
