#include "cli/terminal/screen.h"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "mega/base/error.h"

namespace mega::cli {

Screen::Screen() : terminal_(isatty(STDOUT_FILENO) != 0) {}

void Screen::write(std::string_view text) {
  if (text.empty()) return;
  put(terminal_ ? printable_.add(text) : std::string(text));
  in_line_ = text.back() != '\n';
}

void Screen::put(const std::string& shown) {
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  require(std::fflush(stdout) == 0, "cannot write to standard output");
}

void Screen::end_line() {
  if (!terminal_) return;
  put(printable_.finish());  // half a character is all there will be of it
  if (in_line_) write("\n");
}

}  // namespace mega::cli
