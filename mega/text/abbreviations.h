// Abbreviations: words whose full stop does not end a sentence, and belongs to the word.
//
// The lists are our own and short: common abbreviations of English, German, French, Romanian and Czech. Texts
// of other languages are read with the English list, as Moses does.
#pragma once

#include <string_view>

namespace mega {

enum class Abbreviation {
  none,
  always,
  before_number,  // "No. 5", but not "No. He left"
};

// Of a word without its full stop. Single letters count, and in German and Czech numbers of up to two
// digits, which with a full stop are ordinal.
Abbreviation abbreviation(std::string_view word, std::string_view language);

}  // namespace mega
