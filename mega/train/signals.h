// Signals that stop a training run: the first one requests a checkpoint and a clean stop, a second one from
// the user, at least half a second later, ends the process immediately.
#pragma once

namespace mega::train {

// During its lifetime, handles SIGINT (Ctrl-C), SIGTERM, SIGHUP (the terminal was closed, unless the user
// said nohup) and SIGPIPE (nobody reads the output any more). SIGXFSZ is ignored: writing then fails with an
// error that says so.
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
