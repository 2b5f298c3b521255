// How likely a whole text is to a model.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "mega/data/corpus/token_file.h"
#include "mega/infer/models/score.h"
#include "mega/infer/session.h"

namespace mega::infer {

// Gets log p of the tokens that begin at this place of the text, in its order.
using Scored = std::function<void(int64_t begin, std::span<const float> log_probabilities)>;

// Reads the text as one stream, before which stands </s>: every token sees all before it. The session must
// have read nothing; it has read all but the last token afterwards.
ScoreResult score_text(Session& session, const data::TokenView& text, const Scored& scored);

}  // namespace mega::infer
