// Texts as token numbers, in the released numbering: four specials, then the symbols; the last number of the
// vocabulary is <CLS>.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "mega/config/input_options.h"
#include "mega/config/model_options.h"

namespace mega {

enum Special : int32_t { kStart = 0, kPad = 1, kEnd = 2, kUnknown = 3, kFirstSymbol = 4 };

// Symbols and specials together; a model's vocabulary is at least one larger.
int64_t token_types(TextUnits units);

// The text's tokens and </s>, at most `max_length` of them in all (0: any number). A word that ListOps does
// not have becomes <unk>.
std::vector<int32_t> tokenize(std::string_view text, const TextInput& input);

// How many that are, without making them.
int64_t count_tokens(std::string_view text, const TextInput& input);

// The token that stands before each text of such a model; -1 for none.
int32_t cls_token(const SequenceOptions& options);

}  // namespace mega
