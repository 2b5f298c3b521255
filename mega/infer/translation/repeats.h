// Tokens that would repeat an n-gram.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mega/text/tokens.h"

namespace mega::infer {

// The tokens that would complete an n-gram of `n` tokens which `tokens` already holds; n = 0: none.
std::vector<Token> repeats(std::span<const Token> tokens, int64_t n);

}  // namespace mega::infer
