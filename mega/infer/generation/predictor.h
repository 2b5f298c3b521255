// A language model at a place in a text.
#pragma once

#include <cstdint>
#include <span>

namespace mega::infer {

class Predictor {
 public:
  virtual ~Predictor() = default;

  // Reads on. The first token of a text is </s> (mega/text/tokens.h): what stands before its first line.
  virtual void feed(std::span<const int32_t> tokens) = 0;

  // Of the token that comes next: log-probabilities, up to a constant. Valid until the next call; at least
  // one token must have been fed.
  virtual std::span<const float> logits() = 0;

  // Tokens fed so far.
  virtual int64_t position() const = 0;
};

}  // namespace mega::infer
