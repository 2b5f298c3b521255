// Sums of exponentials: what softmax and log-probabilities divide by.
#pragma once

#include <span>
#include <vector>

namespace mega::infer {

// Σ exp(x - max x): the largest is taken off first, so that nothing overflows. NaN where x holds NaN or +inf,
// or -inf only.
struct ExpSum {
  float max;
  double sum;

  double log() const;  // log Σ exp(x); the largest itself where that is not finite
};

// x must not be empty. `exp_sum` takes exponentials of single precision, which is enough for a whole
// vocabulary; `exact_exp_sum` those of double precision.
ExpSum exp_sum(std::span<const float> x);
ExpSum exact_exp_sum(std::span<const float> x);

// Probabilities, by exact_exp_sum.
std::vector<float> softmax(std::span<const float> logits);

}  // namespace mega::infer
