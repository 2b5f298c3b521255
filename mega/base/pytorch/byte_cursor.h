// Reads numbers and pieces from bytes of a stranger, in order; past the end is an Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "mega/base/error.h"

namespace mega {

class ByteCursor {
 public:
  // `where` begins error messages.
  ByteCursor(std::string_view bytes, std::string where) : bytes_(bytes), where_(std::move(where)) {}
  ByteCursor(std::span<const std::byte> bytes, std::string where)
      : ByteCursor(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                   std::move(where)) {}

  size_t position() const { return position_; }
  size_t left() const { return bytes_.size() - position_; }
  const std::string& where() const { return where_; }

  std::string_view take(uint64_t count) {
    require(count <= left(), where_, ": ends too early: ", count, " bytes expected at position ", position_,
            ", ", left(), " are left");
    const std::string_view piece = bytes_.substr(position_, count);
    position_ += count;
    return piece;
  }
  void skip(uint64_t count) { take(count); }

  // An unsigned number, lowest byte first.
  uint64_t number(size_t bytes) {
    uint64_t value = 0;
    const std::string_view piece = take(bytes);
    for (size_t i = piece.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(piece[i]);
    return value;
  }

  // Up to the next line feed, which is taken too.
  std::string_view line() {
    const size_t end = bytes_.find('\n', position_);
    require(end != bytes_.npos, where_, ": ends within a line");
    const std::string_view text = take(end - position_);
    skip(1);
    return text;
  }

 private:
  std::string_view bytes_;
  std::string where_;
  size_t position_ = 0;
};

}  // namespace mega
