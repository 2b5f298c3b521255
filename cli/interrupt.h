// Ctrl-C as a request to stop the current operation instead of the program.
#pragma once

namespace mega::cli {

// Handles SIGINT during its lifetime. A blocking read then fails with EINTR.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool interrupted();
  // Clears the flag, so that interrupted() reports the next one.
  static void forget();
};

}  // namespace mega::cli
