// Symbols that BPE codes make of words (mega/text/subwords/bpe_codes.h), numbered by a dictionary: tokens as
// fairseq's translators have them.
//
// A word that is not one symbol is several, of which all but the last have "@@" in the dictionary. A symbol
// that the dictionary does not have is taken apart into smaller ones; a character that it does not have is
// <unk>, and so is the word <unk>. Words are what stands between blanks; how many blanks there were is lost.
//
// The vocabulary is the file of codes, an empty line, and the symbols in the order of their numbers, one per
// line.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "mega/text/tokenizer.h"

namespace mega {

std::unique_ptr<Tokenizer> make_bpe_tokenizer(std::string_view vocabulary, const std::string& where);

// The codes of the file `options.model` with the symbols of the file `options.dictionary`, each line of which
// is a symbol, a blank and its count, in the order of their numbers. Error where they are more than
// `options.vocabulary`.
std::unique_ptr<Tokenizer> load_bpe_tokenizer(const TokenizerOptions& options);

// Learns `options.merges` codes from the text, or takes those of the file `options.model`; then numbers the
// symbols that they make of it as fairseq does: the most frequent first, equals in the order of their code
// points; those that are rarer than `min_count` or beyond `vocabulary` are left out.
std::unique_ptr<TokenizerBuilder> make_bpe_builder(const TokenizerOptions& options);

}  // namespace mega
