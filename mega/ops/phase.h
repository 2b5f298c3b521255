// Where the time of a step goes: operations mark the phase they are in, and a benchmark reads the sums.
#pragma once

#include <array>
#include <chrono>
#include <string_view>

#include "mega/base/options/options.h"

namespace mega::ops {

// `rest` is what nobody marked: libtorch's own operations and its autograd.
enum class Phase { products, attention, ema, norms, gates, loss, optimiser, allocation, rest };
inline constexpr size_t kPhases = 9;

struct PhaseTimes {
  std::array<double, kPhases> seconds{};  // of the calling thread, each counted once
  double waiting = 0.0;  // of that: threads that had finished their share of our loops before the others
};

// Measures this thread's phases for its lifetime; nothing is measured otherwise.
class PhaseClock {
 public:
  PhaseClock();
  ~PhaseClock();
  PhaseClock(const PhaseClock&) = delete;
  PhaseClock& operator=(const PhaseClock&) = delete;

  PhaseTimes times();

 private:
  friend class PhaseMark;
  friend class LoopWatch;
  using Clock = std::chrono::steady_clock;
  Phase enter(Phase phase);  // returns the phase before

  Phase current_ = Phase::rest;
  Clock::time_point since_ = Clock::now();
  PhaseTimes times_;
};

// The clock of this thread, or null.
PhaseClock*& phase_clock();

// This thread is in a phase for the lifetime of the mark. Marks may nest: the innermost counts.
class PhaseMark {
 public:
  explicit PhaseMark(Phase phase) : clock_(phase_clock()) {
    if (clock_ != nullptr) previous_ = clock_->enter(phase);
  }
  ~PhaseMark() {
    if (clock_ != nullptr) clock_->enter(previous_);
  }
  PhaseMark(const PhaseMark&) = delete;
  PhaseMark& operator=(const PhaseMark&) = delete;

 private:
  PhaseClock* clock_;
  Phase previous_ = Phase::rest;
};

}  // namespace mega::ops

template <>
struct mega::EnumNames<mega::ops::Phase> {
  using P = mega::ops::Phase;
  static constexpr auto names = mega::enum_table<P>({{P::products, "products"},
                                                     {P::attention, "attention"},
                                                     {P::ema, "EMA"},
                                                     {P::norms, "norms"},
                                                     {P::gates, "gates and activations"},
                                                     {P::loss, "loss"},
                                                     {P::optimiser, "optimiser"},
                                                     {P::allocation, "allocation"},
                                                     {P::rest, "rest"}});
};
