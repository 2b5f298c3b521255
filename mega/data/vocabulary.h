// The vocabulary of a model that classifies or compares texts, learnt from the texts it is trained on.
#pragma once

#include <memory>

#include "mega/data/part.h"
#include "mega/text/tokenizer.h"

namespace mega::data {

// The tokenizer for such texts: ready where the options name one or its vocabulary is fixed, else learnt from
// the examples, both texts of a pair, each as the document that a model will read.
std::shared_ptr<const Tokenizer> learn_vocabulary(const TokenizerOptions& options, const Part& part);

}  // namespace mega::data
