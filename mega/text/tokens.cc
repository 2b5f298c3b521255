#include "mega/text/tokens.h"

#include <algorithm>
#include <array>

namespace mega {
namespace {

constexpr std::array<std::string_view, 15> kListOps = {"0", "1", "2", "3",    "4",    "5",    "6",  "7",
                                                       "8", "9", "]", "[MAX", "[MED", "[MIN", "[SM"};

// Calls f with each word; round brackets, which the published files have around everything, are none.
template <class F>
void for_each_word(std::string_view text, const F& f) {
  constexpr std::string_view kBetween = " \t\r\n()";
  size_t begin = text.find_first_not_of(kBetween);
  while (begin != std::string_view::npos) {
    const size_t end = std::min(text.find_first_of(kBetween, begin), text.size());
    f(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBetween, end);
  }
}

int32_t listops_token(std::string_view word) {
  const auto found = std::find(kListOps.begin(), kListOps.end(), word);
  return found == kListOps.end() ? kUnknown : kFirstSymbol + static_cast<int32_t>(found - kListOps.begin());
}

}  // namespace

int64_t token_types(TextUnits units) {
  return kFirstSymbol + (units == TextUnits::bytes ? 256 : static_cast<int64_t>(kListOps.size()));
}

std::vector<int32_t> tokenize(std::string_view text, const TextInput& input) {
  std::vector<int32_t> tokens;
  const auto room = static_cast<size_t>(input.max_length > 0 ? input.max_length - 1 : INT64_MAX);
  if (input.units == TextUnits::bytes) {
    text = text.substr(0, room);
    tokens.reserve(text.size() + 1);
    for (const char byte : text) tokens.push_back(kFirstSymbol + static_cast<unsigned char>(byte));
  } else {
    for_each_word(text, [&](std::string_view word) {
      if (tokens.size() < room) tokens.push_back(listops_token(word));
    });
  }
  tokens.push_back(kEnd);
  return tokens;
}

int64_t count_tokens(std::string_view text, const TextInput& input) {
  int64_t count = 1;
  if (input.units == TextUnits::bytes) {
    count += static_cast<int64_t>(text.size());
  } else {
    for_each_word(text, [&](std::string_view) { ++count; });
  }
  return input.max_length > 0 ? std::min(count, input.max_length) : count;
}

int32_t cls_token(const SequenceOptions& options) {
  const bool stands_there = options.pooling == Pooling::cls && options.input == InputKind::tokens;
  return stands_there ? static_cast<int32_t>(options.vocabulary - 1) : -1;
}

}  // namespace mega
