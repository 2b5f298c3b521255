#include "mega/train/run_clock.h"

#include <ctime>

#include "mega/ops/runtime.h"

namespace mega::train {
namespace {

double now(TimeSource source) {
  timespec time = {};
  clock_gettime(source == TimeSource::cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

RunClock::RunClock(TimeSource source)
    : source_(source), start_(now(source)), threads_(source == TimeSource::cpu ? ops::threads() : 1.0) {}

double RunClock::seconds() const { return (now(source_) - start_) / threads_; }

}  // namespace mega::train
