#include "mega/text/pair_filter.h"

#include <algorithm>

#include "mega/base/utf8.h"
#include "mega/text/unicode_classes.h"

namespace mega {
namespace {

struct Words {
  int64_t count = 0;
  int64_t longest = 0;  // in characters
};

Words count_words(std::string_view sentence) {
  Words words;
  int64_t length = 0;
  while (!sentence.empty()) {
    const Character next = first_character(sentence);
    sentence.remove_prefix(next.length);
    length = next.valid && is_space(next.point) ? 0 : length + 1;
    if (length == 1) ++words.count;
    words.longest = std::max(words.longest, length);
  }
  return words;
}

bool is_within(const Words& words, const PairFilterOptions& options) {
  return words.count >= std::max<int64_t>(options.min_words, 1) &&
         (options.max_words == 0 || words.count <= options.max_words) &&
         (options.max_word_length == 0 || words.longest <= options.max_word_length);
}

}  // namespace

bool keeps_pair(std::string_view source, std::string_view target, const PairFilterOptions& options) {
  const Words a = count_words(source), b = count_words(target);
  if (!is_within(a, options) || !is_within(b, options)) return false;
  const auto [fewer, more] = std::minmax(a.count, b.count);
  return options.max_ratio == 0 ||
         static_cast<double>(more) / static_cast<double>(fewer) <= options.max_ratio;
}

}  // namespace mega
