// Progress of something that takes long: one line that rewrites itself on a terminal, plain lines now and
// then elsewhere. Always on standard error, so that output can be piped.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace mega {

class Progress {
 public:
  // `total` 0: not known. `unit` stands after the rate: "examples", "MB".
  Progress(std::string title, int64_t total, std::string unit);
  // Ends the line, so that what is printed next stands below it.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of the total; `detail` replaces the rate: "loss 1.234  accuracy 41.2 %". Cheap: draws ten times a
  // second on a terminal, every ten seconds elsewhere, and once at the end.
  void update(int64_t done, const std::string& detail = "");

  // A line of its own above the bar.
  void say(const std::string& line);

 private:
  void draw(bool last);

  using Clock = std::chrono::steady_clock;
  std::string title_, unit_, detail_;
  int64_t total_, done_ = 0, first_ = -1;  // first: of the first update, for the rate of a resumed run
  bool terminal_, drawn_ = false;
  Clock::time_point start_, last_drawn_;
};

}  // namespace mega
