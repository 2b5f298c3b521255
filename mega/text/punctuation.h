// Punctuation marks of many kinds as a few plain ones, as Moses' normalize-punctuation.perl does it:
// quotation marks and apostrophes, dashes, blanks before marks, French spacing, and on which side of a
// closing quotation mark commas and full stops stand.
#pragma once

#include <string>
#include <string_view>

namespace mega {

// English puts "quoted," commas inside; Czech leaves them where they are; all others put them outside. A
// no-break blank between digits becomes a decimal comma in German, Spanish, French and Czech, a point in
// others.
std::string normalize_punctuation(std::string_view line, std::string_view language);

}  // namespace mega
