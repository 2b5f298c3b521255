#include "mega/infer/text_output.h"

#include <algorithm>
#include <utility>

#include "mega/base/error.h"

namespace mega::infer {
namespace {

// Bytes in the UTF-8 sequence that begins with `lead`; 0 where none does.
size_t sequence_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// The second byte decides about overlong forms, surrogates and what is beyond U+10FFFF.
bool can_be_second(unsigned char lead, unsigned char second) {
  const unsigned char least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return second >= least && second <= most;
}

// Bytes at the end of the text that begin a UTF-8 sequence and do not complete it.
size_t incomplete_bytes(std::string_view text) {
  const auto from_end = [&](size_t n) { return static_cast<unsigned char>(text[text.size() - n]); };
  for (size_t n = 1; n <= std::min<size_t>(3, text.size()); ++n) {
    const unsigned char byte = from_end(n);
    const bool continues = (byte & 0xC0) == 0x80;
    if (continues) continue;
    const bool possible = n == 1 || can_be_second(byte, from_end(n - 1));
    return possible && sequence_length(byte) > n ? n : 0;
  }
  return 0;
}

}  // namespace

TextOutput::StopString::StopString(std::string text) : text_(std::move(text)), shorter_(text_.size(), 0) {
  require(!text_.empty(), "a stop string is empty: any text would end before it begins");
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
  size_t begun = 0;  // of a stop string, at the end of the text
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
