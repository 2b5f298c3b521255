// How well a language model predicts a running text.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "mega/config/model_options.h"
#include "mega/data/corpus/token_file.h"
#include "mega/infer/models/score.h"
#include "mega/models/token_model.h"
#include "mega/ops/torch.h"

namespace mega::train {

// A Mega model reads as in the paper (its section 4.3 and appendix): the text is split into K segments, each
// is read from its beginning in chunks, and only the state goes from one chunk to the next. The longest
// context of a token is then the length of a segment. A model that knows so many positions only, such as a
// Transformer, reads with a sliding window.
struct TextReading {
  int64_t segments = 10;        // K
  int64_t context = 0;          // instead: segments of this many tokens; a Transformer's window
  int64_t positions = 1 << 14;  // that go through the model at once, roughly
  torch::Device device = torch::kCPU;
  std::function<void(int64_t tokens)> progress;
  // Gets log p of the tokens that begin at this place of the text; in its order where there is one segment,
  // or a window.
  std::function<void(int64_t begin, std::span<const float> log_probabilities)> scored;
};

struct TextEvaluation {
  infer::ScoreResult score;
  double seconds = 0.0;
};

// In the model's mode of evaluation, in which it is left.
TextEvaluation evaluate_text(models::TokenModel& model, const ReadingPlan& plan, const data::TokenView& text,
                             const TextReading& reading);

}  // namespace mega::train
