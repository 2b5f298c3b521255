#include "cli/terminal/key_decoder.h"

#include <algorithm>
#include <array>
#include <utility>

#include "mega/base/utf8.h"

namespace mega::cli {
namespace {

constexpr char kEscape = '\x1b';
constexpr std::string_view kPasteBegin = "\x1b[200~", kPasteEnd = "\x1b[201~";
constexpr size_t kLongestSequence = 32;

template <size_t count>
std::optional<Key> find(const std::array<std::pair<std::string_view, Key>, count>& table,
                        std::string_view name) {
  for (const auto& [known, key] : table)
    if (known == name) return key;
  return std::nullopt;
}

std::optional<Key> control_key(char byte) {
  switch (byte) {
    case '\r':
    case '\n':
      return Key::enter;
    case 'A' - 64:
      return Key::line_start;
    case 'B' - 64:
      return Key::left;
    case 'D' - 64:
      return Key::end_of_input;
    case 'E' - 64:
      return Key::line_end;
    case 'F' - 64:
      return Key::right;
    case 'H' - 64:
    case '\x7f':
      return Key::delete_left;
    case 'K' - 64:
      return Key::cut_to_end;
    case 'L' - 64:
      return Key::clear_screen;
    case 'N' - 64:
      return Key::next_line;
    case 'P' - 64:
      return Key::previous_line;
    case 'U' - 64:
      return Key::cut_to_start;
    case 'W' - 64:
      return Key::cut_word_left;
    case 'Y' - 64:
      return Key::put_back;
    case 'Z' - 64:
      return Key::suspend;
    default:
      return std::nullopt;
  }
}

// What follows the escape character. "O" begins the keys of a terminal in application mode.
std::optional<Key> escape_key(std::string_view sequence) {
  constexpr std::array<std::pair<std::string_view, Key>, 32> kKeys = {{
      {"[A", Key::previous_line},   {"[B", Key::next_line},
      {"[C", Key::right},           {"[D", Key::left},
      {"[H", Key::line_start},      {"[F", Key::line_end},
      {"OA", Key::previous_line},   {"OB", Key::next_line},
      {"OC", Key::right},           {"OD", Key::left},
      {"OH", Key::line_start},      {"OF", Key::line_end},
      {"[1~", Key::line_start},     {"[4~", Key::line_end},
      {"[7~", Key::line_start},     {"[8~", Key::line_end},
      {"[3~", Key::delete_right},   {"[3;5~", Key::cut_word_right},
      {"[1;5C", Key::word_right},   {"[1;5D", Key::word_left},
      {"[1;3C", Key::word_right},   {"[1;3D", Key::word_left},
      {"[1;5H", Key::line_start},   {"[1;5F", Key::line_end},
      {"Oc", Key::word_right},      {"Od", Key::word_left},
      {"b", Key::word_left},        {"f", Key::word_right},
      {"d", Key::cut_word_right},   {"\x7f", Key::cut_word_left},
      {"\x08", Key::cut_word_left}, {"[3;3~", Key::cut_word_right},
  }};
  return find(kKeys, sequence);
}

bool is_control(char32_t point) { return point < 0x20 || (point >= 0x7F && point < 0xA0); }

// Line breaks as \n; tabs stay; other control characters and what is not UTF-8 are left out.
std::string clean_paste(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const Character next = first_character(text);
    if (next.point == U'\r' && next.valid) {
      clean += '\n';
      if (text.starts_with("\r\n")) text.remove_prefix(1);
    } else if (next.valid && (!is_control(next.point) || next.point == U'\n' || next.point == U'\t')) {
      clean += text.substr(0, next.length);
    }
    text.remove_prefix(next.length);
  }
  return clean;
}

// Bytes at the end of a part of a paste that cannot be understood alone: the beginning of its end, half a
// character, a carriage return that a newline may follow.
size_t unsettled(std::string_view text) {
  for (size_t length = std::min(kPasteEnd.size() - 1, text.size()); length > 0; --length)
    if (text.ends_with(kPasteEnd.substr(0, length))) return length;
  return text.ends_with('\r') ? 1 : incomplete_bytes(text);
}

}  // namespace

std::optional<KeyPress> KeyDecoder::next() { return pasting_ ? next_pasted() : next_typed(); }

std::optional<KeyPress> KeyDecoder::next_pasted() {
  const size_t end = pending_.find(kPasteEnd);
  const size_t size = end != std::string::npos ? end : pending_.size() - unsettled(pending_);
  std::string text = clean_paste(std::string_view(pending_).substr(0, size));
  pending_.erase(0, end != std::string::npos ? end + kPasteEnd.size() : size);
  pasting_ = end == std::string::npos;
  if (!text.empty()) return KeyPress{Key::text, std::move(text)};
  return pasting_ ? std::nullopt : next_typed();
}

std::optional<KeyPress> KeyDecoder::next_typed() {
  std::string text;
  while (!pending_.empty()) {
    const Character next = first_character(pending_);
    const bool plain = next.valid && !is_control(next.point);
    if (!text.empty() && !plain) break;
    if (plain || pending_.front() == '\t') {
      text += pending_.substr(0, next.length);
      pending_.erase(0, next.length);
    } else if (pending_.starts_with(kPasteBegin)) {
      pending_.erase(0, kPasteBegin.size());
      pasting_ = true;
      return next_pasted();
    } else if (pending_.front() == kEscape) {
      std::optional<Key> key;
      if (!take_sequence(key)) return std::nullopt;
      if (key) return KeyPress{*key, ""};
    } else if (!next.valid && incomplete_bytes(pending_) == pending_.size()) {
      return std::nullopt;
    } else {
      const std::optional<Key> key = control_key(pending_.front());
      pending_.erase(0, next.length);
      if (key) return KeyPress{*key, ""};
    }
  }
  if (text.empty()) return std::nullopt;
  return KeyPress{Key::text, std::move(text)};
}

bool KeyDecoder::take_sequence(std::optional<Key>& key) {
  if (pending_.size() < 2) return false;
  const char kind = pending_[1];
  size_t length = kind == kEscape ? 1 : 2;  // of two escapes the second may begin a sequence
  if (kind == '[' || kind == 'O') {
    // Parameters, then one byte that ends it.
    while (length < pending_.size() && pending_[length] >= 0x20 && pending_[length] < 0x40) ++length;
    if (length == pending_.size() && length < kLongestSequence) return false;
    if (length < pending_.size() && pending_[length] >= 0x40 && pending_[length] < 0x7F) ++length;
  }
  key = escape_key(std::string_view(pending_).substr(1, length - 1));
  pending_.erase(0, length);
  return true;
}

}  // namespace mega::cli
