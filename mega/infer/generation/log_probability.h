// Log-probability of a token.
#pragma once

#include <cstdint>
#include <span>

namespace mega::infer {

// The natural log-softmax of the logits at the token. Error if the logits are not a distribution (NaN, +inf,
// all -inf) or do not include the token.
double log_probability(std::span<const float> logits, int32_t token);

}  // namespace mega::infer
