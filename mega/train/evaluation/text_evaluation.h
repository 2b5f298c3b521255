// Evaluates a language model on a running text.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "mega/config/model_options.h"
#include "mega/data/corpus/token_file.h"
#include "mega/distributed/world.h"
#include "mega/infer/models/score.h"
#include "mega/models/token_model.h"
#include "mega/ops/torch.h"

namespace mega::train {

// A Mega model reads as in the paper (section 4.3 and appendix): the text is split into K segments, each is
// read in chunks from an empty state, and only the state is carried from chunk to chunk. The max context of a
// token is then the length of a segment. A model with a limited number of positions, such as a Transformer,
// reads with a sliding window.
struct TextReading {
  int64_t segments = 10;        // K
  int64_t context = 0;          // overrides `segments`: segment length in tokens; a Transformer's window
  int64_t positions = 1 << 14;  // approximate number of positions per batch
  torch::Device device = torch::kCPU;
  distributed::World* world = nullptr;  // that shares the work; every process gets the whole score
  std::function<void(int64_t tokens)> progress;
  // Called with log p of the tokens from position `begin` of the text; in order if there is one segment or a
  // window.
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
