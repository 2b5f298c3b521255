// Standard output for text that is shown as it is generated.
#pragma once

#include <string_view>

namespace mega::cli {

class Screen {
 public:
  Screen();

  // Model output is untrusted: on a terminal, control characters are escaped.
  void write(std::string_view text);

  // On a terminal, ends an unfinished line.
  void end_line();

 private:
  bool terminal_;
  bool in_line_ = false;
};

}  // namespace mega::cli
