// Which source token a target token was translated from, by the model's cross-attention.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mega::infer {

// The position with the highest weight, the first of equal ones, </s> at the end left out unless it is alone;
// -1 for no weights.
int64_t aligned_position(std::span<const float> weights);

// "0-0 1-2": source and target position of each link, counted from 0, the form of Pharaoh (Koehn 2004). The
// last target token is </s>, which is left out.
std::string pharaoh(std::span<const int64_t> aligned);

// The same in words: `source_words` and `target_words` are the words that the tokens belong to. Each link
// occurs once.
std::string pharaoh(std::span<const int64_t> aligned, std::span<const int64_t> source_words,
                    std::span<const int64_t> target_words);

// `target` with each word that is `unknown` replaced by the source word it is aligned to; words without an
// alignment stay. A word per target position, without </s>.
std::vector<std::string> replace_unknown(std::span<const std::string> target,
                                         std::span<const std::string> source,
                                         std::span<const int64_t> aligned, const std::string& unknown);

}  // namespace mega::infer
