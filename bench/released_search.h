// Beam search as the released implementation does it: all hypotheses of all sentences in every step, also in
// the first, where they are equal; and the best of all continuations by tensor operations over the whole
// vocabulary.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mega/infer/translation/hypothesis.h"
#include "mega/infer/translation/search_options.h"
#include "mega/infer/translation/step_decoder.h"

namespace mega::bench {

// The number of tokens, </s> included, of each sentence's best translation. Of the options, beam, length
// penalty, least length, and length by that of the source.
std::vector<int64_t> released_search(infer::StepDecoder& decoder,
                                     std::span<const infer::SearchSentence> sentences,
                                     const infer::SearchOptions& options);

}  // namespace mega::bench
