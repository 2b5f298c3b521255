// Cuts a sentence into words and punctuation marks as Moses' tokenizer.perl does: the form that published
// translation systems are trained on.
//
// Languages: English and French write apostrophes in their own ways (Italian, Catalan and Irish as French);
// all others are cut at every apostrophe. Abbreviations are our own (mega/text/abbreviations.h), so that full
// stops can differ from Moses' after a rare one.
#pragma once

#include <string>
#include <string_view>

namespace mega {

struct MosesTokenization {
  std::string_view language = "en";
  bool split_hyphens = false;  // "well-known" becomes "well @-@ known", tokenizer.perl -a
  bool escape = true;  // & | < > ' " [ ] become entities such as &apos;; off is tokenizer.perl -no-escape
};

// The tokens, with a blank between them; "" for a line of blanks. Bytes that are no UTF-8 become U+FFFD,
// control characters are dropped.
std::string moses_tokenize(std::string_view line, const MosesTokenization& how = {});

// & | < > ' " [ ] as entities, and back; also from &bar;, &bra; and &ket;, which early versions wrote.
std::string moses_escape(std::string_view text);
std::string moses_unescape(std::string_view text);

}  // namespace mega
