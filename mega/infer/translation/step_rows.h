// The part of a decoder's step that belongs to one sentence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "mega/text/tokens.h"

namespace mega::infer {

struct StepRows {
  const float* log_probabilities = nullptr;  // (rows, stride)
  int64_t stride = 0;
  int64_t columns = 0;               // of a row that count
  std::span<const Token> tokens;     // of the columns, ascending; empty: all tokens
  std::span<const int64_t> aligned;  // (rows), the source position of each row, -1 if not known

  const float* row(int64_t index) const { return log_probabilities + index * stride; }
  Token token(int64_t column) const {
    return tokens.empty() ? static_cast<Token>(column) : tokens[static_cast<size_t>(column)];
  }
  // -1 if the decoder was not asked for the token.
  int64_t column(Token token) const {
    if (tokens.empty()) return token;
    const auto found = std::lower_bound(tokens.begin(), tokens.end(), token);
    return found == tokens.end() || *found != token ? -1 : found - tokens.begin();
  }
};

}  // namespace mega::infer
