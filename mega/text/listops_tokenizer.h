// The words of ListOps expressions: digits, operators and the bracket that closes them, in the released
// numbering.
#pragma once

#include <memory>

#include "mega/text/tokenizer.h"

namespace mega {

// Round brackets, which the published files have around everything, are no words; a word that ListOps does
// not have is <unk>.
std::unique_ptr<Tokenizer> make_listops_tokenizer();

}  // namespace mega
