// A language model at a position in a text.
#pragma once

#include <cstdint>
#include <span>

namespace mega::infer {

class Predictor {
 public:
  virtual ~Predictor() = default;

  // Reads the next tokens. The first token of a text is </s> (mega/text/tokens.h).
  virtual void feed(std::span<const int32_t> tokens) = 0;

  // Logits of the next token: log-probabilities up to a constant. Valid until the next call; at least one
  // token must have been fed.
  virtual std::span<const float> logits() = 0;

  // Number of tokens fed so far.
  virtual int64_t position() const = 0;
};

}  // namespace mega::infer
