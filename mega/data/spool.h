// A temporary file for what does not fit into memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace mega::data {

// Bytes are appended, and read back by their place. The file has no name from the start, so that nothing of
// it is left when the program ends, in whatever way.
class Spool {
 public:
  // An Error that says what to do where the folder cannot hold such a file.
  explicit Spool(const std::filesystem::path& folder);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // Gives the place of the bytes. An Error that says what to do when there is no space left.
  int64_t append(std::string_view bytes);

  // Bytes of one append; by any number of threads, but not while something is appended.
  void read(int64_t place, std::span<char> into) const;

  int64_t size() const { return written_ + static_cast<int64_t>(unwritten_.size()); }

 private:
  void write_out();

  std::string folder_;
  int descriptor_ = -1;
  int64_t written_ = 0;
  std::string unwritten_;  // an example is too little for a write of its own
};

}  // namespace mega::data
