#include "mega/text/metrics/words.h"

#include "mega/base/utf8.h"
#include "mega/text/unicode/unicode_classes.h"

namespace mega {
namespace {

// `first` says of a text that is not empty how long its first character is and whether that is space.
template <class First>
std::vector<std::string_view> split_by(std::string_view text, const First& first) {
  std::vector<std::string_view> words;
  size_t begin = 0;
  const auto end_word = [&](size_t end) {
    if (end > begin) words.push_back(text.substr(begin, end - begin));
  };
  for (size_t i = 0; i < text.size();) {
    const auto [length, is_space] = first(text.substr(i));
    if (is_space) {
      end_word(i);
      begin = i + length;
    }
    i += length;
  }
  end_word(text.size());
  return words;
}

struct FirstCharacter {
  size_t length;
  bool is_space;
};

}  // namespace

bool is_python_space(char32_t point) { return is_space(point) || (point >= 0x1C && point <= 0x1F); }

bool is_ascii_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::vector<std::string_view> split_words(std::string_view text) {
  return split_by(text, [](std::string_view rest) {
    const Character next = first_character(rest);
    return FirstCharacter{next.length, next.valid && is_python_space(next.point)};
  });
}

std::vector<std::string_view> split_ascii_words(std::string_view text) {
  return split_by(text, [](std::string_view rest) { return FirstCharacter{1, is_ascii_space(rest[0])}; });
}

}  // namespace mega
