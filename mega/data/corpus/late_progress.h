// Progress of what is usually quick: nothing is shown within the first second.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "mega/report/progress.h"

namespace mega::data {

class LateProgress {
 public:
  LateProgress(std::string title, int64_t total, std::string unit)
      : title_(std::move(title)), total_(total), unit_(std::move(unit)) {}

  void update(int64_t done) {
    if (!progress_ && Clock::now() - start_ > std::chrono::seconds(1))
      progress_.emplace(title_, total_, unit_);
    if (progress_) progress_->update(done);
  }

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start_ = Clock::now();
  std::string title_;
  int64_t total_;
  std::string unit_;
  std::optional<Progress> progress_;
};

}  // namespace mega::data
