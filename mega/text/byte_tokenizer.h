// A token for every byte: no vocabulary to learn, and every text can be written.
#pragma once

#include <memory>

#include "mega/text/tokenizer.h"

namespace mega {

std::unique_ptr<Tokenizer> make_byte_tokenizer();

}  // namespace mega
