// How texts become tokens. Part of the input options of every model that reads text, and so of its file.
#pragma once

#include <cstdint>
#include <string>

#include "mega/base/options/options.h"

namespace mega {

// What a text is cut into: its bytes, its characters (UTF-8), words between blanks, the pieces that
// SentencePiece learns, the words of a ListOps expression, or the symbols that BPE codes make of words. The
// order stands in checksums.
enum class TextUnits { bytes, characters, words, sentencepiece, listops, bpe };

template <>
struct EnumNames<TextUnits> {
  static constexpr auto names = enum_table<TextUnits>({{TextUnits::bytes, "bytes"},
                                                       {TextUnits::characters, "characters"},
                                                       {TextUnits::words, "words"},
                                                       {TextUnits::sentencepiece, "sentencepiece"},
                                                       {TextUnits::listops, "listops"},
                                                       {TextUnits::bpe, "bpe"}});
};

// Whether the vocabulary is the same for all texts, so that there is nothing to learn or to keep.
constexpr bool has_fixed_vocabulary(TextUnits units) {
  return units == TextUnits::bytes || units == TextUnits::listops;
}

struct TokenizerOptions {
  TextUnits units = TextUnits::bytes;
  int64_t vocabulary = 0;
  int64_t min_count = 1;
  std::string model = "";
  int64_t merges = 8000;
  std::string dictionary = "";

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("units", self.units, "what a text is cut into");
    v.field("vocabulary", self.vocabulary,
            "most token types, the frequent ones first; 0: all there are (sentencepiece: 8000)",
            Range{0, 1 << 30});
    v.field("min_count", self.min_count,
            "words and characters that are rarer become <unk>; symbols of BPE are taken apart",
            Range{1, 1e12});
    v.field(
        "model", self.model,
        "a SentencePiece model (sentencepiece) or a file of BPE codes (bpe) to use, in place of what would "
        "be learnt from the text");
    v.field("merges", self.merges, "BPE codes to learn (bpe)", Range{0, 1 << 30});
    v.field(
        "dictionary", self.dictionary,
        "symbols of the codes in `model`, as fairseq's dict.txt has them (bpe); empty: those of the text");
  }
};

}  // namespace mega
