#include "cli/terminal/raw_terminal.h"

#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "mega/base/error.h"

namespace mega::cli {
namespace {

constexpr std::string_view kMarkPastes = "\x1b[?2004h", kDoNotMarkPastes = "\x1b[?2004l";
constexpr std::array<int, 3> kEnding = {SIGTERM, SIGHUP, SIGQUIT};

// For the signal handler; of the one that is in use.
int input_terminal = -1, output_terminal = -1;
struct termios before;
std::array<struct sigaction, kEnding.size()> actions_before;

void write_all(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(output_terminal, text.data(), text.size());
}

void set_raw() {
  struct termios raw = before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
  raw.c_lflag |= static_cast<tcflag_t>(NOFLSH);  // Ctrl-C must not swallow what is printed because of it
  raw.c_iflag &= ~static_cast<tcflag_t>(ICRNL | INLCR | IXON);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;
  ::tcsetattr(input_terminal, TCSADRAIN, &raw);
  write_all(kMarkPastes);
}

// Async-signal-safe.
void set_back() {
  write_all(kDoNotMarkPastes);
  ::tcsetattr(input_terminal, TCSADRAIN, &before);
}

void on_ending(int signal) {
  set_back();
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
  ::raise(signal);
}

}  // namespace

RawTerminal::RawTerminal(int input, int output) {
  require(::tcgetattr(input, &before) == 0, "cannot read keys from the terminal: ", std::strerror(errno));
  input_terminal = input;
  output_terminal = output;
  struct sigaction action = {};
  action.sa_handler = on_ending;
  for (size_t i = 0; i < kEnding.size(); ++i) {
    ::sigaction(kEnding[i], nullptr, &actions_before[i]);
    // Who handles or ignores it has reasons.
    if (actions_before[i].sa_handler == SIG_DFL) ::sigaction(kEnding[i], &action, nullptr);
  }
  set_raw();
}

RawTerminal::~RawTerminal() {
  set_back();
  for (size_t i = 0; i < kEnding.size(); ++i) ::sigaction(kEnding[i], &actions_before[i], nullptr);
}

void RawTerminal::suspend() {
  set_back();
  ::raise(SIGTSTP);
  set_raw();
}

}  // namespace mega::cli
