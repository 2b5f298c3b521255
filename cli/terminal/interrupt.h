// Ctrl-C as a request to stop the current operation instead of the program.
#pragma once

namespace mega::cli {

// Handles SIGINT during its lifetime. What is being written meanwhile is written to its end.
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

// While an InterruptGuard handles SIGINT: a blocking read fails with EINTR during this object's lifetime.
class InterruptibleRead {
 public:
  InterruptibleRead();
  ~InterruptibleRead();
  InterruptibleRead(const InterruptibleRead&) = delete;
  InterruptibleRead& operator=(const InterruptibleRead&) = delete;
};

}  // namespace mega::cli
