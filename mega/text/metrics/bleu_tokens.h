// The tokenisations that BLEU is computed with: sacreBLEU's, and none at all as in Moses' multi-bleu.perl.
// Scores of different tokenisations cannot be compared.
#pragma once

#include <string>
#include <string_view>

#include "mega/base/options/options.h"

namespace mega {

enum class BleuTokens {
  v13a,        // mteval-v13a.pl's, WMT's own: ASCII punctuation, entities of XML
  intl,        // mteval-v14.pl's: punctuation and symbols of all alphabets
  characters,  // each a token
  none,        // words between white space
  multi_bleu,  // words between ASCII's white space, of text that somebody tokenised
};

template <>
struct EnumNames<BleuTokens> {
  static constexpr auto names = enum_table<BleuTokens>({{BleuTokens::v13a, "13a"},
                                                        {BleuTokens::intl, "intl"},
                                                        {BleuTokens::characters, "char"},
                                                        {BleuTokens::none, "none"},
                                                        {BleuTokens::multi_bleu, "multi-bleu"}});
};

// The line with space between its tokens, to be split by split_words, or by split_ascii_words (multi_bleu).
// Invalid UTF-8 becomes replacement characters, except for multi_bleu, which reads bytes.
std::string bleu_tokenized(std::string_view line, BleuTokens kind);

// The step that papers on Transformers put before multi-bleu.perl: "rich-text" becomes "rich ##AT##-##AT##
// text", which counts a compound's parts. It raises scores. Bytes, like the one-line program of Perl that
// they all use: of "a-b-c" only the first hyphen is split.
std::string split_compounds(std::string_view line);

}  // namespace mega
