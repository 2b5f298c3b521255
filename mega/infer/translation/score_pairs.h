// Forced decoding: how likely a given translation is.
#pragma once

#include <span>
#include <vector>

#include "mega/infer/translation/step_decoder.h"

namespace mega::infer {

// log p of each token of targets[i], given sources[i] and the tokens before it; both end with </s>. Error if
// their numbers differ, a target is empty or does not end with </s>, or a token is outside the vocabulary.
std::vector<std::vector<float>> score_pairs(StepDecoder& decoder, std::span<const std::vector<Token>> sources,
                                            std::span<const std::vector<Token>> targets);

}  // namespace mega::infer
