#include "cli/terminal/line_editor.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "cli/terminal/interrupt.h"
#include "mega/base/strings.h"

namespace mega::cli {
namespace {

void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno != EINTR) return;  // the terminal is gone: reading will say so
    if (count > 0) text.remove_prefix(static_cast<size_t>(count));
  }
}

int64_t terminal_columns() {
  struct winsize size {};
  constexpr int64_t kUsual = 80;
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

// A key of several bytes arrives at once, except over slow lines.
bool more_comes_soon() {
  constexpr int kMilliseconds = 50;
  struct pollfd input = {STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, kMilliseconds) != 0;
}

}  // namespace

LineEditor::LineEditor(LineHistory history, std::string prompt, std::string interrupted)
    : history_(std::move(history)), prompt_(std::move(prompt)), interrupted_(std::move(interrupted)) {}

bool LineEditor::is_possible() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0 && kind != nullptr && *kind != '\0' &&
         std::string_view(kind) != "dumb";
}

std::optional<std::string> LineEditor::read() {
  RawTerminal terminal(STDIN_FILENO, STDOUT_FILENO);
  line_.set("");
  place_ = history_.lines().size();
  InterruptGuard::forget();
  while (true) {
    while (const std::optional<KeyPress> press = keys_.next()) {
      const Progress progress = this->press(*press, terminal);
      if (progress == Progress::more) continue;
      draw_whole();
      if (progress == Progress::end) return std::nullopt;
      history_.add(line_.text());
      return line_.text();
    }
    draw();
    bool interrupted = false;
    if (!read_keys(interrupted)) {
      print("\n");
      return std::nullopt;
    }
    if (interrupted) {
      InterruptGuard::forget();
      keys_.reset();
      draw_whole();
      print(interrupted_ + "\n");
      line_.set("");
      place_ = history_.lines().size();
    }
  }
}

LineEditor::Progress LineEditor::press(const KeyPress& press, RawTerminal& terminal) {
  switch (press.key) {
    case Key::enter:
      return Progress::line;
    case Key::end_of_input:
      if (line_.text().empty()) return Progress::end;
      break;
    case Key::text:
      line_.insert(press.text);
      return Progress::more;
    case Key::previous_line:
      if (place_ > 0) go_to(place_ - 1);
      return Progress::more;
    case Key::next_line:
      if (place_ < history_.lines().size()) go_to(place_ + 1);
      return Progress::more;
    case Key::clear_screen:
      print("\x1b[H\x1b[2J");
      return Progress::more;
    case Key::suspend:
      terminal.suspend();
      return Progress::more;
    default:
      break;
  }
  line_.apply(press.key);
  return Progress::more;
}

void LineEditor::go_to(size_t place) {
  if (place_ == history_.lines().size()) typed_ = line_.text();
  place_ = place;
  line_.set(place_ == history_.lines().size() ? typed_ : history_.lines()[place_]);
}

bool LineEditor::read_keys(bool& interrupted) {
  if (keys_.is_waiting() && !more_comes_soon()) {
    keys_.give_up();
    return true;
  }
  std::array<char, 4096> bytes;
  const InterruptibleRead interruptible;
  const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (count > 0) keys_.add({bytes.data(), static_cast<size_t>(count)});
  interrupted = count < 0 && errno == EINTR && InterruptGuard::interrupted();
  return count > 0 || (count < 0 && errno == EINTR);
}

void LineEditor::draw() const {
  const int64_t indent = display_width(prompt_);
  const LineView view = view_of(line_, terminal_columns() - indent);
  // From the start of the row: the text, nothing behind it, and the cursor in its place.
  print("\r" + prompt_ + view.text + "\x1b[K\r\x1b[" + std::to_string(indent + view.cursor) + "C");
}

void LineEditor::draw_whole() const { print("\r" + prompt_ + shown(line_.text()) + "\x1b[K\n"); }

}  // namespace mega::cli
