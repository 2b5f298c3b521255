// String helpers for error messages, tables and progress lines.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mega {

std::string join(std::span<const std::string> parts, std::string_view separator);

// Always returns at least one part: "" gives {""}, "a,,b" gives {"a", "", "b"}.
std::vector<std::string> split(std::string_view text, char separator);

std::string_view trim(std::string_view text);

// The text in double quotes for a one-line message: control characters escaped, long text truncated.
std::string in_quotes(std::string_view text);

// The text as one word of a POSIX shell, in single quotes where it needs them.
std::string shell_word(std::string_view text);

// The known name that the user probably meant, or "" if none is close.
std::string nearest(std::string_view name, std::span<const std::string> known);

// 252237824 -> "252,237,824".
std::string with_thousands(int64_t number);

// 255 -> "00000000000000ff".
std::string hexadecimal(uint64_t number);

// 1536 -> "1.5 KiB".
std::string human_bytes(uint64_t bytes);

// 0.0042 -> "4.2 ms", 75 -> "1 min 15 s", 8100 -> "2 h 15 min".
std::string human_seconds(double seconds);

// Width of UTF-8 text in terminal columns: combining marks take none, East Asian wide and emoji two.
int64_t display_width(std::string_view text);

}  // namespace mega
