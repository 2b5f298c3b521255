// Running text, line by line, from files of any size and with lines of any length, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mega/base/files/stream.h"

namespace mega::data {

// Bytes begin .. end - 1 of files that are read one after the other; they may be packed.
struct TextRange {
  std::vector<std::filesystem::path> files;
  int64_t begin = 0;
  int64_t end = std::numeric_limits<int64_t>::max();
};

// A line, or a part of a very long one.
struct TextPart {
  std::string_view text;  // without its line end; valid until the next part is read
  bool ends_line = false;
  int64_t bytes = 0;  // with its line end
};

class TextReader {
 public:
  static constexpr size_t kLongestPart = size_t{1} << 20;

  // A line longer than `longest` bytes comes in parts, cut after a blank, or else between characters.
  explicit TextReader(TextRange range, size_t longest = kLongestPart);

  // False at the end. A file's last line ends there, with a newline or without.
  bool next(TextPart& part);

 private:
  bool open_next();
  void fill();
  size_t cut_of_long_line() const;

  TextRange range_;
  size_t longest_;
  size_t next_file_ = 0;
  std::optional<InputStream> stream_;
  int64_t position_ = 0;  // of the next byte of the stream in the range's files
  std::string buffer_;
  size_t begin_ = 0, filled_ = 0;  // what of the buffer was read and not yet given out
  bool at_end_ = false;            // of the file
  bool line_open_ = false;         // the line of the last part has not ended
};

// Bytes of all files, unpacked.
int64_t count_bytes(const std::vector<std::filesystem::path>& files);

// Where to cut the text near `target`, a number of bytes: after the first line end from there on, or after
// the first blank where no line ends within `window` bytes, or else between two characters.
int64_t find_cut(const std::vector<std::filesystem::path>& files, int64_t target, int64_t window);

}  // namespace mega::data
