#include "cli/terminal/typed_lines.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "cli/terminal/interrupt.h"
#include "mega/base/printable.h"

namespace mega::cli {
namespace {

constexpr const char* kPrompt = "> ";

}  // namespace

TypedLines::TypedLines(std::string interrupted)
    : interrupted_(std::move(interrupted)), terminal_(isatty(STDIN_FILENO) != 0) {
  if (!LineEditor::is_possible()) return;
  editor_.emplace(LineHistory(history_file()), kPrompt, interrupted_);
  if (!editor_->history().problem().empty())
    std::fprintf(stderr, "note: what you type is not kept for next time: %s\n",
                 printable(editor_->history().problem()).c_str());
}

std::optional<std::string> TypedLines::read_plain() const {
  char* buffer = nullptr;
  size_t size = 0;
  ssize_t length = -1;
  while (true) {
    if (terminal_) std::fputs(kPrompt, stderr);
    InterruptGuard::forget();
    const InterruptibleRead interruptible;
    length = ::getline(&buffer, &size, stdin);
    if (length >= 0 || errno != EINTR || !InterruptGuard::interrupted()) break;
    std::clearerr(stdin);
    std::fprintf(stderr, "\n%s\n", interrupted_.c_str());
  }
  std::optional<std::string> line;
  if (length >= 0) line.emplace(buffer, static_cast<size_t>(length));
  std::free(buffer);
  if (line && line->ends_with('\n')) line->pop_back();
  if (!line && terminal_) std::fputs("\n", stderr);
  return line;
}

}  // namespace mega::cli
