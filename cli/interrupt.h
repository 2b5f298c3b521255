// Ctrl-C as a wish to stop what is being done, not the program.
#pragma once

namespace mega::cli {

// Catches SIGINT while it lives. Reading from a terminal ends with EINTR then.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool interrupted();
  // Waits for the next one.
  static void forget();
};

}  // namespace mega::cli
