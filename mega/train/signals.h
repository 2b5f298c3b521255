// SIGINT and SIGTERM during training: the first signal requests a checkpoint and a clean stop, the second
// ends the process immediately.
#pragma once

namespace mega::train {

// Handles both signals during its lifetime.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  // The first signal received, or 0.
  static int received();
};

}  // namespace mega::train
