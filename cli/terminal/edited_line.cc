#include "cli/terminal/edited_line.h"

#include <algorithm>
#include <utility>

#include "mega/base/strings.h"
#include "mega/base/utf8.h"

namespace mega::cli {
namespace {

// The character at a place of valid UTF-8.
std::string_view character_at(std::string_view text, size_t place) {
  return text.substr(place, first_character(text.substr(place)).length);
}

bool is_space(char byte) { return byte == ' ' || byte == '\t' || byte == '\n'; }

}  // namespace

void EditedLine::set(std::string text) {
  text_ = std::move(text);
  cursor_ = text_.size();
}

void EditedLine::insert(std::string_view text) {
  text_.insert(cursor_, text);
  cursor_ += text.size();
}

size_t EditedLine::left_of(size_t place) const {
  bool marks = true;
  while (place > 0 && marks) {
    do --place;
    while (place > 0 && continues_character(text_[place]));
    marks = display_width(shown(character_at(text_, place))) == 0;
  }
  return place;
}

size_t EditedLine::right_of(size_t place) const {
  if (place == text_.size()) return place;
  place += character_at(text_, place).size();
  while (place < text_.size()) {
    const std::string_view next = character_at(text_, place);
    if (display_width(shown(next)) > 0) break;
    place += next.size();
  }
  return place;
}

size_t EditedLine::word_left_of(size_t place) const {
  while (place > 0 && is_space(text_[place - 1])) --place;
  while (place > 0 && !is_space(text_[place - 1])) --place;
  return place;
}

size_t EditedLine::word_right_of(size_t place) const {
  while (place < text_.size() && is_space(text_[place])) ++place;
  while (place < text_.size() && !is_space(text_[place])) ++place;
  return place;
}

std::string EditedLine::remove(size_t begin, size_t end) {
  std::string removed = text_.substr(begin, end - begin);
  text_.erase(begin, end - begin);
  cursor_ = begin;
  return removed;
}

void EditedLine::apply(Key key) {
  const auto cut = [this](size_t begin, size_t end) {
    if (begin < end) cut_ = remove(begin, end);
  };
  switch (key) {
    case Key::left:
      cursor_ = left_of(cursor_);
      break;
    case Key::right:
      cursor_ = right_of(cursor_);
      break;
    case Key::word_left:
      cursor_ = word_left_of(cursor_);
      break;
    case Key::word_right:
      cursor_ = word_right_of(cursor_);
      break;
    case Key::line_start:
      cursor_ = 0;
      break;
    case Key::line_end:
      cursor_ = text_.size();
      break;
    case Key::delete_left:
      remove(left_of(cursor_), cursor_);
      break;
    case Key::delete_right:
    case Key::end_of_input:
      remove(cursor_, right_of(cursor_));
      break;
    case Key::cut_word_left:
      cut(word_left_of(cursor_), cursor_);
      break;
    case Key::cut_word_right:
      cut(cursor_, word_right_of(cursor_));
      break;
    case Key::cut_to_start:
      cut(0, cursor_);
      break;
    case Key::cut_to_end:
      cut(cursor_, text_.size());
      break;
    case Key::put_back:
      insert(cut_);
      break;
    default:
      break;
  }
}

std::string shown(std::string_view text) {
  std::string result;
  for (const char byte : text) {
    if (byte == '\n')
      result += "\u21b5";
    else
      result += byte == '\t' ? ' ' : byte;
  }
  return result;
}

LineView view_of(const EditedLine& line, int64_t columns) {
  constexpr int64_t kFewest = 8;
  columns = std::max(columns, kFewest);
  const std::string_view text = line.text();
  const int64_t before = display_width(shown(text.substr(0, line.cursor())));
  int64_t skipped = 0;
  if (before + display_width(shown(text.substr(line.cursor()))) >= columns)
    skipped = std::max<int64_t>(0, before - columns / 4) / (columns / 2) * (columns / 2);

  LineView view;
  int64_t width = 0;
  for (size_t place = 0; place < text.size();) {
    const std::string_view next = character_at(text, place);
    const std::string letter = shown(next);
    const int64_t wide = display_width(letter);
    if (width + wide > skipped + columns - 1) break;  // the last column stays free for the cursor
    // Neither half of a wide character nor a mark without its letter.
    const bool visible = width >= skipped && (wide > 0 || !view.text.empty());
    width += wide;
    place += next.size();
    if (visible) view.text += letter;
    if (visible && place <= line.cursor()) view.cursor += wide;
  }
  return view;
}

}  // namespace mega::cli
