// What a data set holds, for `mega data check` and the beginning of a run: splits, classes, lengths,
// problems.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mega/data/corpus/token_file.h"
#include "mega/data/encoder.h"
#include "mega/data/part.h"

namespace mega::data {

struct LengthSummary {
  int64_t shortest = 0, median = 0, p95 = 0, longest = 0;
};
LengthSummary summarize_lengths(std::vector<int64_t> lengths);

struct PartSummary : LengthSummary {  // in positions, as a model would read them
  int64_t examples = 0;
  std::vector<int64_t> per_class;
  int64_t cut = 0;  // examples longer than what is read of them
};

// Examples of which a model reads only the beginning, because they are longer than input.max_length.
int64_t count_cut(const Part& part, const Encoder& encoder, int documents);

PartSummary summarize(const Part& part, const Encoder& encoder, int documents, int64_t classes);

// Examples of one part that stand, byte for byte, in the other too: a leak from training to test.
int64_t count_shared(const Part& one, const Part& other);

// Tokens of the longest line, with its end.
int64_t longest_line(const TokenView& text);

}  // namespace mega::data
