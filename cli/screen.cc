#include "cli/screen.h"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "mega/base/error.h"

namespace mega::cli {
namespace {

std::string without_controls(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F) {
      safe += {'^', static_cast<char>(byte ^ 0x40)};
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

Screen::Screen() : terminal_(isatty(STDOUT_FILENO) != 0) {}

void Screen::write(std::string_view text) {
  if (text.empty()) return;
  const std::string shown = terminal_ ? without_controls(text) : std::string(text);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  require(std::fflush(stdout) == 0, "cannot write to standard output");
  in_line_ = text.back() != '\n';
}

void Screen::end_line() {
  if (terminal_ && in_line_) write("\n");
}

}  // namespace mega::cli
