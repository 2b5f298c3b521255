// A line of text that is being edited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/terminal/key_decoder.h"

namespace mega::cli {

class EditedLine {
 public:
  const std::string& text() const { return text_; }
  size_t cursor() const { return cursor_; }  // in bytes, between two characters

  // Replaces the text; the cursor stands at its end.
  void set(std::string text);
  void insert(std::string_view text);
  // Moves the cursor, or cuts. Other keys change nothing.
  void apply(Key key);

 private:
  // The place one character, with its combining marks, or one word beside another place.
  size_t left_of(size_t place) const;
  size_t right_of(size_t place) const;
  size_t word_left_of(size_t place) const;
  size_t word_right_of(size_t place) const;
  // Removes what stands between the places; the cursor then stands there.
  std::string remove(size_t begin, size_t end);

  std::string text_, cut_;
  size_t cursor_ = 0;
};

// What is shown of a line.
struct LineView {
  std::string text;    // line breaks as an arrow, tabs as a space
  int64_t cursor = 0;  // in columns
};

// The part of the line around its cursor that fits into `columns`. It moves on by half its width, so that not
// every key redraws everything in another place.
LineView view_of(const EditedLine& line, int64_t columns);

// The text as it is shown.
std::string shown(std::string_view text);

}  // namespace mega::cli
