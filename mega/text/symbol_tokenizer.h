// Characters and words: each symbol of the training text that is frequent enough has a number, all others are
// <unk>.
//
// Characters are code points of UTF-8; each byte that is none is <unk>. Words are what stands between the
// blanks of ASCII; how many blanks there were is lost. The text of <unk> itself (U+FFFD or the word <unk>) is
// <unk>, as in texts whose rare words have been replaced; no other special is made from text.
//
// The vocabulary is one symbol per line, the most frequent first; a line ends with "\n" and nothing else.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "mega/text/tokenizer.h"

namespace mega {

std::unique_ptr<Tokenizer> make_symbol_tokenizer(TextUnits units, std::string_view vocabulary,
                                                 const std::string& where);

std::unique_ptr<TokenizerBuilder> make_symbol_builder(const TokenizerOptions& options);

}  // namespace mega
