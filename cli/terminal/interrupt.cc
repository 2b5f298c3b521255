#include "cli/terminal/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "mega/base/system/signal_stack.h"

namespace mega::cli {
namespace {

volatile std::sig_atomic_t signals = 0;
struct sigaction before;

// Whatever ignores the first signal would ignore the second, too: the second ends the program.
void on_interrupt(int signal) {
  if (signals != 0) _exit(128 + signal);
  signals = 1;
}

void handle(int flags, struct sigaction* previous) {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = flags | SA_ONSTACK;
  sigaction(SIGINT, &action, previous);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  use_signal_stack();
  forget();
  handle(SA_RESTART, &before);
}

InterruptGuard::~InterruptGuard() { sigaction(SIGINT, &before, nullptr); }

bool InterruptGuard::interrupted() { return signals != 0; }

void InterruptGuard::forget() { signals = 0; }

InterruptibleRead::InterruptibleRead() { handle(0, nullptr); }

InterruptibleRead::~InterruptibleRead() { handle(SA_RESTART, nullptr); }

}  // namespace mega::cli
