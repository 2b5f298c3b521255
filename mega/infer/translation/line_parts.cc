#include "mega/infer/translation/line_parts.h"

#include <algorithm>
#include <utility>

#include "mega/base/strings.h"
#include "mega/base/utf8.h"
#include "mega/text/sentence_splitter.h"

namespace mega::infer {
namespace {

// Where a text is cut in two: the blank nearest to its middle, or else the middle character. 0 or the end if
// there is only one.
size_t middle(std::string_view text) {
  const size_t half = text.size() / 2;
  const size_t after = text.find(' ', half), before = text.rfind(' ', half);
  if (before != std::string_view::npos && (after == std::string_view::npos || half - before < after - half))
    return before;
  if (after != std::string_view::npos) return after;
  size_t cut = half;
  while (cut < text.size() && continues_character(text[cut])) ++cut;
  return cut;
}

class Cutter {
 public:
  Cutter(const TranslationText& text, int64_t longest) : text_(text), longest_(longest) {}

  void add_line(std::string_view line) {
    std::vector<Token> tokens = text_.encode(line);
    if (fits(tokens))
      take(line, std::move(tokens));
    else
      add_sentences(line);
  }

  void add_sentences(std::string_view line) {
    for (const std::string& sentence : split_sentences(line, text_.options().language)) add_halves(sentence);
  }

  std::vector<LinePart> parts() && { return std::move(parts_); }

 private:
  bool fits(const std::vector<Token>& tokens) const { return std::ssize(tokens) + 1 <= longest_; }

  void add_halves(std::string_view text) {
    text = trim(text);
    std::vector<Token> tokens = text_.encode(text);
    const size_t cut = fits(tokens) ? 0 : middle(text);
    if (cut > 0 && cut < text.size()) {
      add_halves(text.substr(0, cut));
      add_halves(text.substr(cut));
      return;
    }
    // A single character can have more tokens than that only where hardly any are allowed.
    if (!fits(tokens)) tokens.resize(static_cast<size_t>(std::max<int64_t>(longest_ - 1, 0)));
    take(text, std::move(tokens));
  }

  void take(std::string_view text, std::vector<Token> tokens) {
    if (tokens.empty()) return;
    tokens.push_back(kEnd);
    parts_.push_back({std::string(text), std::move(tokens)});
  }

  const TranslationText& text_;
  int64_t longest_;
  std::vector<LinePart> parts_;
};

}  // namespace

std::vector<LinePart> line_parts(std::string_view line, const TranslationText& text, int64_t longest,
                                 bool split) {
  const std::string valid = valid_utf8(line);
  if (trim(valid).empty()) return {};
  Cutter cutter(text, longest);
  if (split)
    cutter.add_sentences(valid);
  else
    cutter.add_line(valid);
  return std::move(cutter).parts();
}

bool is_markup(std::string_view line) {
  line = trim(line);
  return line.size() > 2 && line.front() == '<' && line.find('>') == line.size() - 1;
}

}  // namespace mega::infer
