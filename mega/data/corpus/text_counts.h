// What a text has beside its tokens.
#pragma once

#include <cstdint>

namespace mega::data {

struct TextCounts {
  int64_t characters = 0;  // of UTF-8; in what is no UTF-8, bytes that continue no character
  int64_t bytes = 0;
  int64_t unknown = 0;  // tokens that stand for what the vocabulary does not have
  int64_t lines = 0;    // line ends

  TextCounts& operator+=(const TextCounts& other) {
    characters += other.characters;
    bytes += other.bytes;
    unknown += other.unknown;
    lines += other.lines;
    return *this;
  }
};

}  // namespace mega::data
