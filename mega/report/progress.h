// Progress of something that takes long: one line that rewrites itself on a terminal, plain lines now and
// then elsewhere. On standard error, so that output can be piped.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace mega {

class Progress {
 public:
  // `total` 0: not known. `unit` stands after the rate: "examples", "MB". `to` is a terminal or not: asked
  // here.
  Progress(std::string title, int64_t total, std::string unit, std::FILE* to = stderr);
  // Ends the line, so that what is printed next stands below it.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of the total; `detail` replaces the rate: "loss 1.234  accuracy 41.2 %". Cheap: draws ten times a
  // second on a terminal, every ten seconds elsewhere, and once at the end. Never throws: no run is lost
  // because its progress could not be shown.
  void update(int64_t done, const std::string& detail = "") noexcept;

  // A line of its own above the bar.
  void say(const std::string& line) noexcept;

 private:
  void draw(bool last);

  using Clock = std::chrono::steady_clock;
  std::string title_, unit_, detail_;
  int64_t total_, done_ = 0, first_ = -1;  // first: of the first update, for the rate of a resumed run
  std::FILE* to_;
  bool terminal_, drawn_ = false;
  Clock::time_point start_, first_time_, last_drawn_;
};

// What one line of progress shows.
struct ProgressFigures {
  std::string title, unit, detail;
  int64_t done = 0, total = 0;
  double rate = 0;     // per second; 0: not known yet
  double seconds = 0;  // since the start
  bool last = false;   // shows the time it took rather than the time left
};

// Of at most `width` columns, with a bar if there is room for one; `width` 0: of any length and without.
std::string progress_line(const ProgressFigures& figures, int64_t width);

}  // namespace mega
