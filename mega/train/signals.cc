#include "mega/train/signals.h"

#include <unistd.h>

#include <csignal>

namespace mega::train {
namespace {

volatile std::sig_atomic_t first_signal = 0;
void (*old_interrupt)(int) = SIG_DFL;
void (*old_terminate)(int) = SIG_DFL;

void on_signal(int signal) {
  if (first_signal != 0) _exit(128 + signal);
  first_signal = signal;
  constexpr char kText[] = "\nstopping after this update with a checkpoint; repeat to stop immediately\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kText, sizeof kText - 1);
}

}  // namespace

SignalGuard::SignalGuard() {
  first_signal = 0;
  old_interrupt = std::signal(SIGINT, on_signal);
  old_terminate = std::signal(SIGTERM, on_signal);
}

SignalGuard::~SignalGuard() {
  std::signal(SIGINT, old_interrupt);
  std::signal(SIGTERM, old_terminate);
}

int SignalGuard::received() { return first_signal; }

}  // namespace mega::train
