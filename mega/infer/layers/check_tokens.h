#pragma once

#include <cstdint>
#include <span>

#include "mega/base/error.h"

namespace mega::infer {

// Error if a token is not in a vocabulary of this size.
inline void check_tokens(std::span<const int32_t> tokens, int64_t vocabulary) {
  for (const int32_t token : tokens)
    require(token >= 0 && token < vocabulary, "token ", token, " is outside 0 to ", vocabulary - 1,
            ", the model's vocabulary");
}

}  // namespace mega::infer
