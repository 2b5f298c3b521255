// Turns text that arrives in arbitrary pieces into pieces that are safe to print.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mega::infer {

// Holds back an incomplete UTF-8 sequence, and what may be the beginning of a stop string. The first complete
// stop string ends the text; of two that end at the same byte, the longer one. Invalid UTF-8 passes
// unchanged.
class TextOutput {
 public:
  // `begins_line`: the text starts at the beginning of a line. Error if a stop string is empty.
  explicit TextOutput(std::span<const std::string> stop_strings = {}, bool begins_line = true);

  // Takes the next bytes; returns what can be printed now, often nothing.
  std::string add(std::string_view bytes);

  // End of text: returns what was held back.
  std::string finish();

  // A stop string was completed. All text before it has been returned.
  bool stopped() const { return stopped_; }

  // Whether the next text starts a line; an argument of Tokenizer::text.
  bool begins_line() const { return begins_line_; }

 private:
  // Knuth-Morris-Pratt: length of the prefix of a stop string that the text ends with.
  class StopString {
   public:
    explicit StopString(std::string text);
    void read(char byte);
    size_t matched() const { return matched_; }
    bool complete() const { return matched_ == text_.size(); }

   private:
    size_t extend(size_t matched, char byte) const;

    std::string text_;
    std::vector<size_t> shorter_;  // failure function: [n]: next shorter prefix that n + 1 bytes end with
    size_t matched_ = 0;
  };

  std::string give(size_t bytes);
  std::string stop(size_t stop_bytes);

  std::vector<StopString> stops_;
  std::string held_;  // at least the longest partial match of a stop string
  bool begins_line_;
  bool stopped_ = false;
};

}  // namespace mega::infer
