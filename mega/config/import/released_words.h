// The words of the released programs, and of Hugging Face's, for what our options name.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mega/base/error.h"
#include "mega/base/strings.h"
#include "mega/config/models/layer_options.h"

namespace mega {

template <class Enum>
using Word = std::pair<std::string_view, Enum>;

// What a word stands for; Error with those that there are, after `where`.
template <class Enum>
Enum meaning(const std::string& word, const std::string& where, std::span<const Word<Enum>> words) {
  std::vector<std::string> known;
  for (const auto& [name, value] : words) {
    if (name == word) return value;
    known.emplace_back(name);
  }
  fail(where, ": expected one of ", join(known, ", "), ", got ", in_quotes(word));
}

template <class Enum>
Enum meaning(const std::string& word, const std::string& where, std::initializer_list<Word<Enum>> words) {
  return meaning<Enum>(word, where, std::span<const Word<Enum>>(words.begin(), words.size()));
}

NormKind released_norm(const std::string& word, const std::string& where);
PositionKind released_position(const std::string& word, const std::string& where);
Activation released_activation(const std::string& word, const std::string& where);
AttentionFunction released_attention(const std::string& word, const std::string& where);

// The inverse; Error where those programs have nothing of the kind.
std::string released_word(NormKind norm);
std::string released_word(PositionKind position);
std::string released_word(Activation activation);
std::string released_word(AttentionFunction attention);

}  // namespace mega
