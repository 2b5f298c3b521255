// Which pairs of sentences to train on: parallel texts have lines that are empty, far too long, or no
// translations of each other, which their lengths often show. As Moses' clean-corpus-n.perl.
#pragma once

#include <cstdint>
#include <string_view>

#include "mega/base/options.h"

namespace mega {

struct PairFilterOptions {
  int64_t min_words = 1;
  int64_t max_words = 250;
  double max_ratio = 9.0;
  int64_t max_word_length = 1000;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("min_words", self.min_words, "fewest words of a sentence", Range{1, 1e9});
    v.field("max_words", self.max_words, "most words of a sentence; 0: any number", Range{0, 1e9});
    v.field("max_ratio", self.max_ratio, "most words of one sentence for each of the other; 0: any number",
            Range{0, 1e9});
    v.field("max_word_length", self.max_word_length, "longest word, in characters; 0: any length",
            Range{0, 1e9});
  }
};

// Words are what stands between blanks: of cut sentences, or symbols where BPE has been applied.
bool keeps_pair(std::string_view source, std::string_view target, const PairFilterOptions& options = {});

}  // namespace mega
