// A terminal that hands over every key as it is typed.
#pragma once

namespace mega::cli {

// Keys are neither echoed nor collected to lines during its lifetime; a paste is marked as one. Ctrl-C is
// still a signal, Ctrl-Z a key. A signal that ends the program leaves the terminal as it was before. One at a
// time.
class RawTerminal {
 public:
  // Error if a descriptor is no terminal.
  RawTerminal(int input, int output);
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // Stops the program as Ctrl-Z does elsewhere; returns when it is continued.
  void suspend();
};

}  // namespace mega::cli
