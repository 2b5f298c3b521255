// Two files that should be translations line by line, and are not.
#pragma once

#include "mega/data/parallel/pair_text.h"

namespace mega::data {

// An Error with the number of lines of each file, and the line from which on they stop being translations of
// each other where the lengths of the lines show it: lines that are missing in one file shift all that
// follow.
[[noreturn]] void fail_misaligned(const PairFiles& files);

// The first line, from 0, that is missing in the shorter of two texts, if that lacks lines in one place:
// where lengths of lines before it fit without, and those after it with the shift. -1: the lengths do not
// tell, or the end is missing. Lengths are in bytes.
int64_t find_missing_line(const std::vector<uint32_t>& longer, const std::vector<uint32_t>& shorter);

}  // namespace mega::data
