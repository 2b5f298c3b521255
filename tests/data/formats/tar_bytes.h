// Tar archives as other programs write them.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>

namespace mega::testing {

inline std::string octal(size_t value, size_t digits) {
  std::string text(digits, '0');
  for (size_t i = digits; i > 0; --i, value /= 8) text[i - 1] = static_cast<char>('0' + value % 8);
  return text;
}

inline void set_checksum(std::string& header) {
  header.replace(148, 8, 8, ' ');
  size_t sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  header.replace(148, 8, octal(sum, 6) + '\0' + ' ');
}

// A header block and the content, filled up to whole blocks.
inline std::string tar_entry(const std::string& name, const std::string& content, char type = '0',
                             const std::string& prefix = "") {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 7, "0000644");
  header.replace(124, 11, octal(content.size(), 11));
  header[156] = type;
  header.replace(257, 8, std::string("ustar\0", 6) + "00");
  header.replace(345, prefix.size(), prefix);
  set_checksum(header);
  return header + content + std::string((512 - content.size() % 512) % 512, '\0');
}

inline std::string tar_end() { return std::string(1024, '\0'); }

inline std::string pax_record(const std::string& key, const std::string& value) {
  const size_t rest = key.size() + value.size() + 3;
  size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length) ++length;
  return std::to_string(length) + " " + key + "=" + value + "\n";
}

}  // namespace mega::testing
