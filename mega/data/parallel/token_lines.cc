#include "mega/data/parallel/token_lines.h"

#include <utility>

#include "mega/base/error.h"

namespace mega::data {

TokenLines::TokenLines(TokenView text) : text_(std::move(text)) {
  int64_t begin = text_.begin;
  for_each_length([&](int64_t length) {
    if (size_++ % kApart == 0) places_.push_back(begin);
    begin += length;
    require(begin <= text_.end, text_.name, ": the last line of its tokens has no end");
  });
}

Block TokenLines::line(int64_t number) const {
  require(number >= 0 && number < size_, text_.name, ": line ", number, " of ", size_);
  int64_t begin = places_[static_cast<size_t>(number / kApart)];
  for (int64_t before = number % kApart; before > 0; --before) begin = line_end(begin);
  return {begin, line_end(begin)};
}

void TokenLines::for_each_length(const std::function<void(int64_t)>& action) const {
  for (Block line = before_first(); line.end < text_.end;) {
    line = after(line);
    action(line.size());
  }
}

}  // namespace mega::data
