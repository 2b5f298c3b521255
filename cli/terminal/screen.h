// Standard output for text that is shown as it is generated.
#pragma once

#include <string>
#include <string_view>

#include "mega/base/printable.h"

namespace mega::cli {

class Screen {
 public:
  Screen();

  // Model output is untrusted: on a terminal, control characters are escaped, also those
  // that come in two pieces.
  void write(std::string_view text);

  // On a terminal, ends an unfinished line.
  void end_line();

 private:
  void put(const std::string& shown);

  bool terminal_;
  PrintableStream printable_;
  bool in_line_ = false;
};

}  // namespace mega::cli
