// Parallel text as tokens: two memory-mapped files of the same number of lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mega/config/files/signature.h"
#include "mega/data/parallel/pair_counts.h"
#include "mega/data/parallel/pair_text.h"
#include "mega/data/parallel/token_lines.h"

namespace mega::data {

// What is done to a line of each side before it is cut into tokens (punctuation, words): the same in training
// and when the model is used. Empty: nothing.
struct PairPreparation {
  using Prepare = std::function<std::string(std::string_view)>;
  Prepare source, target;
  uint64_t fingerprint = 0;  // another one for another preparation
};

// How pairs become tokens.
struct PairEncoding {
  TranslationTokenizers tokenizers;
  PairPreparation preparation;
  uint64_t fingerprint = 0;  // of the tokenizers and the preparation
  int64_t max_length = 0;    // tokens of a side, with </s>; 0: any
};

// Which pairs do.
struct PairSelection {
  bool clean = false;      // leave out what is empty, too long or unbalanced; otherwise what is long is cut
  double max_ratio = 0.0;  // of the tokens of the sides, without </s>; 0: any
  int64_t limit = 0;       // the first so many; 0: all
  bool skip_broken = false;
};

// One part of a corpus.
struct PairPart {
  PairText text;              // as it was written
  TokenLines source, target;  // as tokens, pair by pair: a line and </s>
  PairCounts counts;

  const std::string& name() const { return text.name; }
  int64_t size() const { return source.size(); }
  bool empty() const { return size() == 0; }
};

// The part's tokens, from the folder if they were made before. An empty text is an empty part.
PairPart load_pairs(const PairText& text, const PairEncoding& encoding, const PairSelection& selection,
                    const std::filesystem::path& folder);

// The pairs of a part as they were written, in the order of its tokens: what translations are compared with.
// Only of parts of which nothing was left out.
std::vector<Pair> written_pairs(const PairPart& part);

}  // namespace mega::data
