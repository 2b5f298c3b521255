#include "mega/infer/translation/repeats.h"

#include <algorithm>

namespace mega::infer {

std::vector<Token> repeats(std::span<const Token> tokens, int64_t n) {
  std::vector<Token> found;
  if (n <= 0 || n > std::ssize(tokens)) return found;
  const auto context = static_cast<size_t>(n - 1);
  const auto last = tokens.last(context);
  for (size_t i = 0; i + context < tokens.size(); ++i)
    if (std::equal(last.begin(), last.end(), tokens.begin() + static_cast<ptrdiff_t>(i)))
      found.push_back(tokens[i + context]);
  return found;
}

}  // namespace mega::infer
