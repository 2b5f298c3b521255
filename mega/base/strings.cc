#include "mega/base/strings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "mega/base/utf8.h"

namespace mega {
namespace {

// Levenshtein distance, one row at a time.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string printed(const char* format, double value, const char* unit) {
  std::array<char, 64> buffer;
  std::snprintf(buffer.data(), buffer.size(), format, value, unit);
  return buffer.data();
}

struct CodePoints {
  char32_t first;
  char32_t last;
};

bool within(char32_t point, std::span<const CodePoints> ranges) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [point](CodePoints r) { return r.first <= point && point <= r.last; });
}

// Common ranges, not all of Unicode: a table that is off by one column is still readable.
constexpr CodePoints kZeroWidth[] = {{0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
constexpr CodePoints kDoubleWidth[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
                                       {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                                       {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                                       {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

}  // namespace

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string joined;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) joined += separator;
    joined += parts[i];
  }
  return joined;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string in_quotes(std::string_view text) {
  constexpr size_t kLongest = 80;
  const bool cut = text.size() > kLongest;
  text = whole_characters(text, kLongest);
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      std::array<char, 8> escape;
      std::snprintf(escape.data(), escape.size(), "\\x%02x", static_cast<unsigned>(byte));
      result += escape.data();
    } else {
      result += c;
    }
  }
  return result + (cut ? "...\"" : "\"");
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=,+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string nearest(std::string_view name, std::span<const std::string> known) {
  constexpr size_t kLongestName = 200;  // the cost is the product of the lengths
  if (name.size() > kLongestName) return {};
  const size_t tolerance = 1 + name.size() / 3;
  std::string best;
  size_t best_distance = tolerance + 1;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongestName) continue;
    const size_t distance = edit_distance(name, candidate);
    // At a distance of the whole length, the names share no letter: not a useful suggestion.
    if (distance < best_distance && distance < std::max(name.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string with_thousands(int64_t number) {
  std::string digits = std::to_string(number);
  const size_t first = number < 0 ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

std::string hexadecimal(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

std::string human_bytes(uint64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  // 1023.95 would print as 1024.0: use the next unit.
  while (value >= (unit == 0 ? 1024.0 : 1023.95) && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return printed(unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
}

std::string human_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  if (seconds < 0) return "-" + human_seconds(-seconds);
  if (seconds < 0.9995e-3) return printed("%.3g %s", seconds * 1e6, "us");
  if (seconds < 0.9995) return printed("%.3g %s", seconds * 1e3, "ms");
  if (seconds < 59.95) return printed("%.3g %s", seconds, "s");
  struct Unit {
    int64_t seconds;
    const char* name;
    const char* smaller_name;
    int64_t smaller_seconds;
  };
  constexpr std::array<Unit, 3> kUnits = {Unit{86400, "d", "h", 3600}, Unit{3600, "h", "min", 60},
                                          Unit{60, "min", "s", 1}};
  constexpr double kForever = 1e15;  // larger values overflow the integers below
  if (seconds > kForever) return printed("%.3g %s", seconds / 86400, "d");
  for (const Unit& unit : kUnits) {
    const int64_t smaller = std::llround(seconds / static_cast<double>(unit.smaller_seconds));
    const int64_t per_unit = unit.seconds / unit.smaller_seconds;
    if (smaller < per_unit) continue;
    return std::to_string(smaller / per_unit) + " " + unit.name + " " + std::to_string(smaller % per_unit) +
           " " + unit.smaller_name;
  }
  return "1 min 0 s";
}

int64_t display_width(std::string_view text) {
  int64_t width = 0;
  while (!text.empty()) {
    const Character first = first_character(text);
    text.remove_prefix(first.length);
    // What is no UTF-8 shows as one replacement character.
    if (!first.valid || !within(first.point, kZeroWidth)) width += within(first.point, kDoubleWidth) ? 2 : 1;
  }
  return width;
}

}  // namespace mega
