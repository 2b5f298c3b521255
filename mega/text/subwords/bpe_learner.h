// Learns BPE codes from counted words: exactly those that subword-nmt's learn_bpe.py learns, in its order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace mega {

// A word, in UTF-8, and how often it stands in the text. Words of several languages together give joint
// codes.
using CountedWord = std::pair<std::string_view, int64_t>;

// A file of codes (mega/text/subwords/bpe_codes.h), version 0.2, with at most `merges` of them: fewer where
// no pair is left that stands in the text `min_frequency` times.
std::string learn_bpe_codes(std::span<const CountedWord> words, int64_t merges, int64_t min_frequency = 2);

}  // namespace mega
