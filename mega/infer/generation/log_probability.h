// What a model thought of a token.
#pragma once

#include <cstdint>
#include <span>

namespace mega::infer {

// The natural logarithm of the token's probability: its place in the softmax of all logits. Error where the
// logits are no distribution (NaN, +inf, all -inf) or do not have the token.
double log_probability(std::span<const float> logits, int32_t token);

}  // namespace mega::infer
