// A sample of the lines of a text of any length, in bounded memory: the same text gives the same sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mega {

// Every line gets a random rank. All lines are kept until they take more than `most_bytes`; from then on only
// those of the lower half of the ranks, then of the lower quarter, and so on: each line of the text is as
// likely to stay as any other. Lines must be far shorter than `most_bytes`.
class LineSample {
 public:
  explicit LineSample(size_t most_bytes) : most_bytes_(most_bytes) {}

  void add(std::string_view line);

  struct Line {
    uint64_t rank;
    std::string text;
  };

  // In the order of the text.
  const std::vector<Line>& lines() const { return lines_; }

 private:
  const size_t most_bytes_;
  size_t bytes_ = 0;
  uint64_t lines_seen_ = 0;
  uint64_t highest_rank_ = UINT64_MAX;
  std::vector<Line> lines_;
};

}  // namespace mega
