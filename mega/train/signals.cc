#include "mega/train/signals.h"

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <ctime>

#include "mega/base/system/signal_stack.h"
#include "mega/report/terminal.h"

namespace mega::train {
namespace {

constexpr std::array kHandled = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};

volatile std::sig_atomic_t first_signal = 0;
timespec first_time{};
std::array<struct sigaction, kHandled.size()> before;

double seconds_since_first() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec - first_time.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec - first_time.tv_nsec);
}

// One event may send several signals: `timeout` signals its command and then the group that the command is
// in, a terminal that is closed is reported by the shell and by the kernel, and a closed pipe at every line.
bool is_repeated_by_the_user(int signal) {
  constexpr double kSameEvent = 0.5;  // seconds
  return signal != SIGPIPE && signal != SIGHUP && seconds_since_first() > kSameEvent;
}

void on_signal(int signal) {
  if (first_signal != 0) {
    if (is_repeated_by_the_user(signal)) _exit(128 + signal);
    return;
  }
  clock_gettime(CLOCK_MONOTONIC, &first_time);
  first_signal = signal;
  if (is_quiet()) return;
  constexpr char kText[] = "\nstopping after this update with a checkpoint; repeat to stop immediately\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kText, sizeof kText - 1);
}

}  // namespace

SignalGuard::SignalGuard() {
  use_signal_stack();
  first_signal = 0;
  for (size_t i = 0; i < kHandled.size(); ++i) {
    sigaction(kHandled[i], nullptr, &before[i]);
    // nohup. That shells ignore SIGINT for what scripts run in the background is no wish of the user's.
    if (kHandled[i] == SIGHUP && before[i].sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = kHandled[i] == SIGXFSZ ? SIG_IGN : on_signal;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    for (const int signal : kHandled) sigaddset(&action.sa_mask, signal);  // one at a time
    sigaction(kHandled[i], &action, nullptr);
  }
}

SignalGuard::~SignalGuard() {
  for (size_t i = 0; i < kHandled.size(); ++i) sigaction(kHandled[i], &before[i], nullptr);
}

int SignalGuard::received() { return first_signal; }

}  // namespace mega::train
