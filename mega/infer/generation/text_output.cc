#include "mega/infer/generation/text_output.h"

#include <algorithm>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/utf8.h"

namespace mega::infer {

TextOutput::StopString::StopString(std::string text) : text_(std::move(text)), shorter_(text_.size(), 0) {
  require(!text_.empty(), "a stop string is empty: expected at least one character");
  for (size_t n = 1; n < text_.size(); ++n) shorter_[n] = extend(shorter_[n - 1], text_[n]);
}

size_t TextOutput::StopString::extend(size_t matched, char byte) const {
  while (matched > 0 && text_[matched] != byte) matched = shorter_[matched - 1];
  return text_[matched] == byte ? matched + 1 : 0;
}

// Not called again once the stop string is complete.
void TextOutput::StopString::read(char byte) { matched_ = extend(matched_, byte); }

TextOutput::TextOutput(std::span<const std::string> stop_strings, bool begins_line)
    : stops_(stop_strings.begin(), stop_strings.end()), begins_line_(begins_line) {}

std::string TextOutput::add(std::string_view bytes) {
  size_t begun = 0;  // longest partial stop string at the end of the text
  for (const StopString& stop : stops_) begun = std::max(begun, stop.matched());
  for (const char byte : bytes) {
    if (stopped_) return "";
    held_ += byte;
    begins_line_ = byte == '\n';
    begun = 0;
    size_t complete = 0;
    for (StopString& stop : stops_) {
      stop.read(byte);
      begun = std::max(begun, stop.matched());
      if (stop.complete()) complete = std::max(complete, stop.matched());
    }
    if (complete > 0) return stop(complete);
  }
  const auto settled = std::string_view(held_).substr(0, held_.size() - begun);
  return give(settled.size() - incomplete_bytes(settled));
}

std::string TextOutput::finish() { return give(held_.size()); }

std::string TextOutput::give(size_t bytes) {
  std::string given = held_.substr(0, bytes);
  held_.erase(0, bytes);
  return given;
}

std::string TextOutput::stop(size_t stop_bytes) {
  stopped_ = true;
  std::string given = give(held_.size() - stop_bytes);
  held_.clear();
  return given;
}

}  // namespace mega::infer
