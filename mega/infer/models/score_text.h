// Scores a whole text with a language model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "mega/data/corpus/token_file.h"
#include "mega/infer/models/score.h"
#include "mega/infer/session.h"

namespace mega::infer {

// Called with log p of the tokens from position `begin` of the text, in order.
using Scored = std::function<void(int64_t begin, std::span<const float> log_probabilities)>;

// Reads the text as one stream after </s>: every token sees all before it. The session must be new;
// afterwards it has read all but the last token.
ScoreResult score_text(Session& session, const data::TokenView& text, const Scored& scored);

// log p of the tokens of each text, in their order. Each thread reads texts of its own (longest_first); the
// numbers are those of score_text, to the bit. If texts cannot be scored, throws what the first of them
// threw.
std::vector<std::vector<float>> score_texts(const std::shared_ptr<const LanguageModel>& model,
                                            const std::shared_ptr<ThreadPool>& pool,
                                            std::span<const data::TokenView> texts);

}  // namespace mega::infer
