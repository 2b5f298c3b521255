// The vocabulary of a model that classifies or compares texts, learnt from the texts it is trained on.
#pragma once

#include <memory>
#include <span>

#include "mega/data/record.h"
#include "mega/text/tokenizer.h"

namespace mega::data {

// The tokenizer for such texts: ready where the options name one or its vocabulary is fixed, else learnt from
// the records, both texts of a pair, each as the document that a model will read.
std::shared_ptr<const Tokenizer> learn_vocabulary(const TokenizerOptions& options,
                                                  std::span<const Record> records);

}  // namespace mega::data
