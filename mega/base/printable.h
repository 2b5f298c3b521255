// Text of unknown origin as it may be shown on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace mega {

// Control characters (C0, DEL and C1) as \n, \x1b, \u009b and the like, so that a class name or a file name
// cannot move the cursor or fake a line; invalid UTF-8 as replacement characters. Everything that comes from
// data or from a model file goes through this before it is printed.
std::string printable(std::string_view text);

// The same, but line breaks and tabs stay: for text that is shown as a whole, such as what a model writes.
std::string printable_lines(std::string_view text);

// The same for text that comes in pieces, which may be cut within a character.
class PrintableStream {
 public:
  // What can be shown now: half a character waits for its rest.
  std::string add(std::string_view piece);
  // What is left at the end.
  std::string finish();

 private:
  std::string waiting_;
};

}  // namespace mega
