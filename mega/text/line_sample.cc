#include "mega/text/line_sample.h"

#include "mega/base/random.h"

namespace mega {

void LineSample::add(std::string_view line) {
  const uint64_t rank = stream_seed(0, "line sample", lines_seen_++);
  if (rank > highest_rank_) return;
  lines_.push_back({rank, std::string(line)});
  bytes_ += line.size() + sizeof(Line);
  while (bytes_ > most_bytes_) {
    highest_rank_ /= 2;
    std::erase_if(lines_, [this](const Line& kept) {
      const bool drop = kept.rank > highest_rank_;
      if (drop) bytes_ -= kept.text.size() + sizeof(Line);
      return drop;
    });
  }
}

}  // namespace mega
