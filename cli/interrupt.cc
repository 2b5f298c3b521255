#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>

namespace mega::cli {
namespace {

volatile std::sig_atomic_t signals = 0;
struct sigaction before;

// Whatever ignores the first signal would ignore the second, too: the second ends the program.
void on_interrupt(int signal) {
  if (signals != 0) _exit(128 + signal);
  signals = 1;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  forget();
  struct sigaction action = {};
  action.sa_handler = on_interrupt;  // no SA_RESTART: blocking reads return
  sigaction(SIGINT, &action, &before);
}

InterruptGuard::~InterruptGuard() { sigaction(SIGINT, &before, nullptr); }

bool InterruptGuard::interrupted() { return signals != 0; }

void InterruptGuard::forget() { signals = 0; }

}  // namespace mega::cli
