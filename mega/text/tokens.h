// Token numbers, as they go from a tokenizer through files to a model: in the released numbering, four
// specials and then the symbols of the vocabulary.
#pragma once

#include <cstdint>

namespace mega {

using Token = int32_t;

enum Special : Token { kStart = 0, kPad = 1, kEnd = 2, kUnknown = 3, kFirstSymbol = 4 };

}  // namespace mega
