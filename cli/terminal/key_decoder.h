// The bytes that a terminal sends, as keys of a line editor.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mega::cli {

enum class Key {
  text,  // characters that were typed or pasted
  enter,
  end_of_input,  // Ctrl-D: deletes a character where there is one
  left,
  right,
  word_left,
  word_right,
  line_start,
  line_end,
  delete_left,
  delete_right,
  cut_word_left,
  cut_word_right,
  cut_to_start,
  cut_to_end,
  put_back,  // what was cut last
  previous_line,
  next_line,
  clear_screen,
  suspend,
};

struct KeyPress {
  Key key;
  std::string text;  // of Key::text: valid UTF-8; a paste may have line breaks and tabs
};

// Keys of Emacs and of every terminal that follows ECMA-48. Bytes may arrive cut anywhere. Unknown keys,
// control characters and what is not UTF-8 are left out.
class KeyDecoder {
 public:
  void add(std::string_view bytes) { pending_ += bytes; }

  // The next key; nullopt where more bytes are needed.
  std::optional<KeyPress> next();

  // The bytes so far may be the beginning of a key.
  bool is_waiting() const { return !pasting_ && !pending_.empty(); }
  // Nothing follows: the escape character was a key of its own, which does nothing.
  void give_up() { pending_.clear(); }

  // After an interrupt: as if nothing had been typed.
  void reset() { *this = {}; }

 private:
  std::optional<KeyPress> next_pasted();
  std::optional<KeyPress> next_typed();
  // Removes an escape sequence and gives its key; nullopt where it has none. False: it is not complete.
  bool take_sequence(std::optional<Key>& key);

  std::string pending_;
  bool pasting_ = false;
};

}  // namespace mega::cli
