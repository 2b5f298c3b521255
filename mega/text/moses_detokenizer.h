// Joins words and punctuation marks to running text again, as Moses' detokenizer.perl does. English, French,
// Italian and Czech have rules of their own.
//
// One difference: a line that begins with < and ends with > is joined like any other. Moses takes it for
// markup and leaves it.
#pragma once

#include <string>
#include <string_view>

namespace mega {

// `line` has tokens with blanks between them; entities such as &apos; become characters.
std::string moses_detokenize(std::string_view line, std::string_view language = "en");

}  // namespace mega
