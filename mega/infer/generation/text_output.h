// A text that comes in pieces of any cut, given on in pieces that are safe to print.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mega::infer {

// Holds back a UTF-8 sequence that is not complete yet, and what may be the beginning of a stop string. The
// first stop string that is complete ends the text; of two that end at the same byte, the longer one. What is
// not UTF-8 passes unchanged.
class TextOutput {
 public:
  // `begins_line`: the text starts at the beginning of a line. Error where a stop string is empty.
  explicit TextOutput(std::span<const std::string> stop_strings = {}, bool begins_line = true);

  // Takes the next bytes; gives what may be printed now, which is often nothing.
  std::string add(std::string_view bytes);

  // The text is over: gives what was held back.
  std::string finish();

  // A stop string came. All text before it has been given; there will be no more.
  bool stopped() const { return stopped_; }

  // What is added next is the first of its line: what Tokenizer::text wants to know.
  bool begins_line() const { return begins_line_; }

 private:
  // Knuth, Morris and Pratt: how much of a stop string the text ends with.
  class StopString {
   public:
    explicit StopString(std::string text);
    void read(char byte);
    size_t matched() const { return matched_; }
    bool complete() const { return matched_ == text_.size(); }

   private:
    size_t extend(size_t matched, char byte) const;

    std::string text_;
    std::vector<size_t> shorter_;  // [n]: the next shorter beginning that the first n + 1 bytes end with
    size_t matched_ = 0;
  };

  std::string give(size_t bytes);
  std::string stop(size_t stop_bytes);

  std::vector<StopString> stops_;
  std::string held_;  // at least what any stop string has matched
  bool begins_line_;
  bool stopped_ = false;
};

}  // namespace mega::infer
