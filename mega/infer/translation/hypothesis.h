// What a search takes and gives.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/text/tokens.h"

namespace mega::infer {

struct SearchSentence {
  std::vector<Token> source;  // with </s> at the end
  std::vector<Token> prefix;  // what the translation begins with
  uint64_t number = 0;        // chooses the random stream, if translations are sampled
};

// A translation, finished or not.
struct Hypothesis {
  std::vector<Token> tokens;             // with </s> at the end, if finished
  std::vector<float> log_probabilities;  // of each token
  std::vector<int64_t> aligned;          // the source position of each token; empty if not known
  double sum = 0.0;                      // of log_probabilities
  double score = 0.0;                    // sum, divided by the length penalty
};

// Best first.
using NBest = std::vector<Hypothesis>;

}  // namespace mega::infer
