// Reads lines that are typed at a terminal: with keys to edit them, and earlier lines to choose from.
//
// Our own instead of libedit: that brings libtinfo and libbsd, needs terminfo's files wherever the program
// runs, and reads characters as the locale says, where models read UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/terminal/edited_line.h"
#include "cli/terminal/key_decoder.h"
#include "cli/terminal/line_history.h"
#include "cli/terminal/raw_terminal.h"

namespace mega::cli {

class LineEditor {
 public:
  // Between typing, the terminal is as usual. `interrupted` is printed where Ctrl-C discards a line.
  LineEditor(LineHistory history, std::string prompt, std::string interrupted);

  // Whether standard input and output are terminals that can move their cursor.
  static bool is_possible();

  // The next line without its newline; nullopt at end of input (Ctrl-D on an empty line). Needs an
  // InterruptGuard.
  std::optional<std::string> read();

  const LineHistory& history() const { return history_; }

 private:
  enum class Progress { more, line, end };

  Progress press(const KeyPress& press, RawTerminal& terminal);
  // Shows an earlier line; the one that was being typed stands behind the last.
  void go_to(size_t place);
  // False at end of input; `interrupted` is set by Ctrl-C.
  bool read_keys(bool& interrupted);
  void draw() const;
  void draw_whole() const;

  LineHistory history_;
  std::string prompt_, interrupted_;
  KeyDecoder keys_;  // has what was typed ahead
  EditedLine line_;
  size_t place_ = 0;   // in the history
  std::string typed_;  // the new line, while an earlier one is shown
};

}  // namespace mega::cli
