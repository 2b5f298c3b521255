// Errors of the library.
//
// A message says what was wrong, where, what was expected and what to do. It is built only on failure:
//   require(length > 0, path, ":", line, ": an empty sequence; remove the line");
#pragma once

#include <sstream>
#include <stdexcept>

namespace mega {

// The exception the library throws for invalid input: arguments, options or files.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  std::ostringstream message;
  (message << ... << parts);
  throw Error(message.str());
}

template <class... Parts>
void require(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    fail(parts...);
}

}  // namespace mega
