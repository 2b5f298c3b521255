// SIGINT and SIGTERM while training: the first asks the run to save and stop, the second ends the process at
// once.
#pragma once

namespace mega::train {

// Catches both signals while it lives.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  // The first signal that came, or 0.
  static int received();
};

}  // namespace mega::train
