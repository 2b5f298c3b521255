#include "mega/train/signals.h"

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>

namespace mega::train {
namespace {

constexpr std::array kHandled = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};

volatile std::sig_atomic_t first_signal = 0;
std::array<struct sigaction, kHandled.size()> before;

void on_signal(int signal) {
  // A closed pipe says so at every line: that is not the user's impatience.
  if (first_signal != 0 && signal != SIGPIPE) _exit(128 + signal);
  if (first_signal != 0) return;
  first_signal = signal;
  constexpr char kText[] = "\nstopping after this update with a checkpoint; repeat to stop immediately\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kText, sizeof kText - 1);
}

}  // namespace

SignalGuard::SignalGuard() {
  first_signal = 0;
  for (size_t i = 0; i < kHandled.size(); ++i) {
    sigaction(kHandled[i], nullptr, &before[i]);
    const bool ignored = before[i].sa_handler == SIG_IGN;  // nohup
    if (ignored && kHandled[i] != SIGPIPE) continue;
    struct sigaction action = {};
    action.sa_handler = kHandled[i] == SIGXFSZ ? SIG_IGN : on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(kHandled[i], &action, nullptr);
  }
}

SignalGuard::~SignalGuard() {
  for (size_t i = 0; i < kHandled.size(); ++i) sigaction(kHandled[i], &before[i], nullptr);
}

int SignalGuard::received() { return first_signal; }

}  // namespace mega::train
