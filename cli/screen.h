// Standard output for text that appears as it is written.
#pragma once

#include <string_view>

namespace mega::cli {

class Screen {
 public:
  Screen();

  // Text of a model is as little to be trusted as any: on a terminal, it cannot move the cursor.
  void write(std::string_view text);

  // So that what comes next on a terminal stands on a line of its own.
  void end_line();

 private:
  bool terminal_;
  bool in_line_ = false;
};

}  // namespace mega::cli
