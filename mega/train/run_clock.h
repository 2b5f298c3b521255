// The clock of a run (train.clock).
#pragma once

#include "mega/config/recipe/train_options.h"

namespace mega::train {

// CPU time is that of the process, divided by its threads: while all of them work, on an idle machine, it is
// close to that of the wall.
class RunClock {
 public:
  explicit RunClock(TimeSource source = TimeSource::wall);

  double seconds() const;  // since the clock was made

 private:
  TimeSource source_;
  double start_, threads_;
};

}  // namespace mega::train
