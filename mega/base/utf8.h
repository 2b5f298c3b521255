// UTF-8 decoding of arbitrary bytes, and encoding.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mega {

// Replaces invalid UTF-8: U+FFFD, the replacement character.
inline constexpr std::string_view kReplacement = "\uFFFD";

inline constexpr size_t kLongestCharacter = 4;  // bytes

struct Character {
  size_t length;  // in bytes, at least 1
  char32_t point;
  bool valid;  // false: incomplete, overlong, a surrogate, or beyond U+10FFFF
};

// The text must not be empty.
Character first_character(std::string_view text);

// Length in bytes of the first character; 0 if it is invalid or the text is empty.
size_t utf8_length(std::string_view text);

inline bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The text, or its beginning of at most so many bytes, without half a character at the end.
std::string_view whole_characters(std::string_view text, size_t most);

// Number of bytes at the end of the text that begin a character but do not complete it.
size_t incomplete_bytes(std::string_view text);

// The text with invalid UTF-8 replaced by replacement characters.
std::string valid_utf8(std::string_view text);

// Appends the character; one that is no code point (a surrogate, beyond U+10FFFF) as a replacement character.
void append_utf8(std::string& text, char32_t point);

}  // namespace mega
