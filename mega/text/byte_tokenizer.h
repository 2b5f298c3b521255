// A token for every byte: no vocabulary to learn, and every text can be written. Imported models may number
// bytes in an order of their own, and not all of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "mega/text/tokenizer.h"

namespace mega {

std::unique_ptr<Tokenizer> make_byte_tokenizer();

// Bytes in the order of a vocabulary: one per line, as a decimal number; a line that is none stands for
// nothing (dictionaries are filled up). Bytes that are not there are <unk>.
std::unique_ptr<Tokenizer> make_byte_tokenizer(std::string_view vocabulary, const std::string& where);

// Whether a vocabulary is one of bytes: decimal numbers, and what a dictionary is filled up with.
bool is_byte_vocabulary(std::string_view vocabulary);

}  // namespace mega
