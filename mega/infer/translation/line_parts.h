// The parts of a line that a translator reads one by one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mega/text/tokens.h"
#include "mega/text/translation_text.h"

namespace mega::infer {

struct LinePart {
  std::string text;
  std::vector<Token> tokens;  // with </s> at the end
};

// The sentences of a line if `split`, or else the line as a whole. What is longer than `longest` tokens, with
// </s>, is cut into its sentences, and those into halves, between words if possible, until each part fits:
// nothing is left out. Parts without a token are; so a line of blanks has none. Invalid UTF-8 is read as
// U+FFFD.
std::vector<LinePart> line_parts(std::string_view line, const TranslationText& text, int64_t longest,
                                 bool split);

// A line that is one tag (<p>), which is no text to translate.
bool is_markup(std::string_view line);

}  // namespace mega::infer
