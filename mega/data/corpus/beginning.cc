#include "mega/data/corpus/beginning.h"

#include <algorithm>
#include <string>
#include <vector>

#include "mega/base/utf8.h"
#include "mega/text/tokens.h"

namespace mega::data {

TokenView beginning_of(const TokenView& text, int64_t tokens, const Tokenizer& tokenizer) {
  if (tokens >= text.size()) return text;
  constexpr int64_t kAtOnce = 1 << 16;
  TokenView view = text;
  view.end = view.begin + tokens;
  view.counts = {};
  std::vector<int32_t> read;
  bool begins_line = true;
  for (int64_t at = view.begin; at < view.end; at += std::ssize(read)) {
    read.resize(static_cast<size_t>(std::min(kAtOnce, view.end - at)));
    view.file->copy(at, std::ssize(read), read.data());
    for (const int32_t token : read) {
      const std::string decoded = tokenizer.text(token, begins_line);
      view.counts.bytes += std::ssize(decoded);
      view.counts.characters +=
          std::ssize(decoded) - std::count_if(decoded.begin(), decoded.end(), continues_character);
      view.counts.unknown += token == kUnknown ? 1 : 0;
      view.counts.lines += token == kEnd ? 1 : 0;
      begins_line = token == kEnd || tokenizer.ends_inside_word(token);
    }
  }
  return view;
}

}  // namespace mega::data
