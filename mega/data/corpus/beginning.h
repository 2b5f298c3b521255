// The beginning of a tokenized text.
#pragma once

#include <cstdint>

#include "mega/data/corpus/token_file.h"
#include "mega/text/tokenizer.h"

namespace mega::data {

// The first so many tokens of a text, or all if there are no more. Characters and bytes are counted by
// decoding.
TokenView beginning_of(const TokenView& text, int64_t tokens, const Tokenizer& tokenizer);

}  // namespace mega::data
