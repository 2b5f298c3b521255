// Lower case of whole texts, as Python's str.lower() has it: what published scores of lower-cased text were
// computed with.
#pragma once

#include <string>
#include <string_view>

namespace mega {

// By Unicode 14.0, in all alphabets. Unlike to_lower of single characters
// (mega/text/unicode/unicode_classes.h), it knows the two rules that need more than one: a Greek sigma at the
// end of a word is another letter, and a capital I with a dot becomes two characters. Invalid UTF-8 is
// replaced by replacement characters.
std::string lower_case(std::string_view text);

}  // namespace mega
