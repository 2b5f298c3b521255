// Where the characters of a text begin and end.
#pragma once

#include <cstddef>
#include <string_view>

namespace mega {

// What stands for bytes that are no UTF-8: U+FFFD, the replacement character.
inline constexpr std::string_view kReplacement = "\uFFFD";

// Bytes of the character that the text begins with; 0 where that is none: half a character, a longer form
// than needed, a surrogate, beyond U+10FFFF, or the end of the text.
size_t utf8_length(std::string_view text);

}  // namespace mega
