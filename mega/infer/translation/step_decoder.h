// What beam search asks of a translator: the distribution of the next token of many hypotheses side by side.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "mega/text/tokens.h"

namespace mega::infer {

class StepDecoder {
 public:
  virtual ~StepDecoder() = default;

  virtual int64_t vocabulary() const = 0;

  // Number of tokens, </s> at the front included, that a target may have.
  virtual int64_t max_positions() const { return std::numeric_limits<int64_t>::max(); }

  // Reads sources, each of tokens with </s> at the end; drops everything read before, and any restriction.
  virtual void begin(std::span<const std::vector<Token>> sources) = 0;

  // After begin: asks for the given tokens only, distinct and ascending. If true, the columns of step() are
  // these tokens in this order, and their probabilities add up to 1; if false, nothing has changed.
  virtual bool restrict(std::span<const Token> /*tokens*/) { return false; }

  // Row r appends tokens[r] to the hypothesis that was row parents[r] of the step before; in the first step
  // parents[r] is the number of its source. The first token of a target is </s>. Rows that are nobody's
  // parent are gone and cost nothing. Natural log-probabilities of the next token, (rows, vocabulary or the
  // restricted one), valid until the next call.
  virtual std::span<const float> step(std::span<const int64_t> parents, std::span<const Token> tokens) = 0;

  // Attention of a row of the last step to the positions of its source, for alignments; empty where the model
  // does not tell. Valid until the next call.
  virtual std::span<const float> alignment(int64_t row) const = 0;
};

}  // namespace mega::infer
