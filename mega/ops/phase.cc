#include "mega/ops/phase.h"

namespace mega::ops {

PhaseClock*& phase_clock() {
  thread_local PhaseClock* clock = nullptr;
  return clock;
}

PhaseClock::PhaseClock() { phase_clock() = this; }
PhaseClock::~PhaseClock() { phase_clock() = nullptr; }

Phase PhaseClock::enter(Phase phase) {
  const Clock::time_point now = Clock::now();
  times_.seconds[static_cast<size_t>(current_)] += std::chrono::duration<double>(now - since_).count();
  since_ = now;
  const Phase previous = current_;
  current_ = phase;
  return previous;
}

PhaseTimes PhaseClock::times() {
  enter(current_);
  return times_;
}

}  // namespace mega::ops
