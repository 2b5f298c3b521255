// The words of ListOps expressions: digits, operators and the bracket that closes them, in the released
// numbering.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "mega/text/tokenizer.h"

namespace mega {

// Round brackets, which the published files have around everything, are no words; a word that ListOps does
// not have is <unk>.
std::unique_ptr<Tokenizer> make_listops_tokenizer();

// The same in the order of a vocabulary, one word per line, in which imported models number them.
std::unique_ptr<Tokenizer> make_listops_tokenizer(std::string_view vocabulary, const std::string& where);

// Whether a vocabulary is one of ListOps: its words, and what a dictionary is filled up with.
bool is_listops_vocabulary(std::string_view vocabulary);

}  // namespace mega
