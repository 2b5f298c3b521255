// Lines of standard input for a dialogue: typed at a terminal, with keys to edit them, or from a pipe.
#pragma once

#include <optional>
#include <string>

#include "cli/terminal/line_editor.h"

namespace mega::cli {

class TypedLines {
 public:
  // `interrupted` is printed where Ctrl-C discards a line.
  explicit TypedLines(std::string interrupted);

  bool are_typed() const { return terminal_; }

  // Without its newline; nullopt at end of file. Needs an InterruptGuard.
  std::optional<std::string> next() { return editor_ ? editor_->read() : read_plain(); }

 private:
  std::optional<std::string> read_plain() const;

  std::string interrupted_;
  bool terminal_;
  std::optional<LineEditor> editor_;
};

}  // namespace mega::cli
