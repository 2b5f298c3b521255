// Progress of a long operation: a status line on a terminal, otherwise a plain line every few seconds.
// Printed to standard error, so that output can be piped.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace mega {

class Progress {
 public:
  // `total` 0: unknown. `unit` follows the rate: "examples", "MB". Detects whether `to` is a terminal.
  Progress(std::string title, int64_t total, std::string unit, std::FILE* to = stderr);
  // Ends the status line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of the total; `details` replace the rate, the most important first: {"loss 1.234", "accuracy
  // 41.2 %"}. Cheap: draws ten times a second on a terminal, every ten seconds elsewhere, and once at the
  // end. Never throws: an output error must not abort a run.
  void update(int64_t done, const std::vector<std::string>& details = {}) noexcept;

  // Where the total turns out to be another.
  void set_total(int64_t total) { total_ = total; }

  // Prints a line above the bar.
  void say(const std::string& line) noexcept;

 private:
  void draw(bool last);

  using Clock = std::chrono::steady_clock;
  std::string title_, unit_;
  std::vector<std::string> details_;
  int64_t total_, done_ = 0, first_ = -1;  // first_: of the first update, for the rate of a resumed run
  std::FILE* to_;
  bool terminal_, drawn_ = false;
  Clock::time_point start_, first_time_, last_drawn_;
};

// Contents of a progress line.
struct ProgressState {
  std::string title, unit;
  std::vector<std::string> details;  // the most important first
  int64_t done = 0, total = 0;
  double rate = 0;     // per second; 0: unknown
  double seconds = 0;  // since the start
  bool last = false;   // show elapsed instead of remaining time
};

// At most `width` columns; `width` 0: any length, no bar. If the line is too long, the bar gets shorter,
// then the least important parts are left out: details from the last, the count, the share, the end of the
// title; never the bar and the time.
std::string progress_line(const ProgressState& state, int64_t width);

}  // namespace mega
