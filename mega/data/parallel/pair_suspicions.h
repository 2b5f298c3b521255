// What looks wrong in a parallel text, though it can be read.
#pragma once

#include <string>
#include <vector>

#include "mega/data/parallel/parallel_corpus.h"

namespace mega::data {

// One line each, what was seen and what to do about it: lines that were not translated, empty sides, pairs
// that were left out, one side much longer than the other, lines that are cut, unknown tokens, no validation
// or test part, tests that are trained on. Empty where nothing is suspicious.
std::vector<std::string> find_suspicions(const ParallelCorpus& corpus);

}  // namespace mega::data
