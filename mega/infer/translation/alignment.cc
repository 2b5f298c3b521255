#include "mega/infer/translation/alignment.h"

#include <algorithm>
#include <set>

#include "mega/base/error.h"

namespace mega::infer {
namespace {

void add_link(std::string& text, int64_t source, int64_t target) {
  if (!text.empty()) text += ' ';
  text += std::to_string(source) + "-" + std::to_string(target);
}

}  // namespace

int64_t aligned_position(std::span<const float> weights) {
  if (weights.empty()) return -1;
  const auto words = weights.first(std::max<size_t>(weights.size() - 1, 1));
  return std::max_element(words.begin(), words.end()) - words.begin();
}

std::string pharaoh(std::span<const int64_t> aligned) {
  std::string text;
  for (size_t i = 0; i + 1 < aligned.size(); ++i) add_link(text, aligned[i], static_cast<int64_t>(i));
  return text;
}

std::string pharaoh(std::span<const int64_t> aligned, std::span<const int64_t> source_words,
                    std::span<const int64_t> target_words) {
  std::set<std::pair<int64_t, int64_t>> links;  // target first: in its order
  for (size_t i = 0; i + 1 < aligned.size(); ++i) {
    const auto from = static_cast<size_t>(aligned[i]);
    if (from >= source_words.size()) continue;  // </s> of an empty source
    require(i < target_words.size(), "an alignment of ", aligned.size() - 1, " tokens, but words for ",
            target_words.size());
    links.emplace(target_words[i], source_words[from]);
  }
  std::string text;
  for (const auto& [target, source] : links) add_link(text, source, target);
  return text;
}

std::vector<std::string> replace_unknown(std::span<const std::string> target,
                                         std::span<const std::string> source,
                                         std::span<const int64_t> aligned, const std::string& unknown) {
  std::vector<std::string> words(target.begin(), target.end());
  for (size_t i = 0; i < words.size() && i < aligned.size(); ++i) {
    const auto from = static_cast<size_t>(aligned[i]);
    if (words[i] == unknown && from < source.size()) words[i] = source[from];
  }
  return words;
}

}  // namespace mega::infer
