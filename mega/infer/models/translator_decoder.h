// Decodes with the engine's translator: hypotheses side by side, one product per layer for all of them. A
// hypothesis that is continued once keeps its state, and those that fork share all full pages of keys and
// values; what a source has to offer is computed once, and read by all its hypotheses.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mega/base/aligned.h"
#include "mega/infer/layers/key_value_cache.h"
#include "mega/infer/layers/selected_rows.h"
#include "mega/infer/models/translator.h"
#include "mega/infer/state.h"
#include "mega/infer/thread_pool.h"
#include "mega/infer/translation/step_decoder.h"
#include "mega/infer/workspace.h"

namespace mega::infer {

// After an Error, begin() starts afresh. Not thread-safe; several decoders of one translator are.
class TranslatorDecoder : public StepDecoder {
 public:
  TranslatorDecoder(std::shared_ptr<const Translator> model, std::shared_ptr<ThreadPool> pool,
                    CacheType cache = CacheType::f32);

  int64_t vocabulary() const override { return model_->options().vocabulary; }
  int64_t max_positions() const override { return model_->max_positions(); }
  void begin(std::span<const std::vector<Token>> sources) override;
  bool restrict(std::span<const Token> tokens) override;
  std::span<const float> step(std::span<const int64_t> parents, std::span<const Token> tokens) override;
  std::span<const float> alignment(int64_t row) const override;

  // Of the states of all hypotheses; pages that they share count for each.
  int64_t state_bytes() const;

 private:
  struct Row {
    State state;
    size_t source = 0;
  };

  std::vector<Row> first_rows(std::span<const int64_t> parents) const;
  std::vector<Row> next_rows(std::span<const int64_t> parents);

  std::shared_ptr<const Translator> model_;
  std::shared_ptr<ThreadPool> pool_;
  kernels::WeightType cache_;
  Workspace work_;
  Sources sources_;
  std::optional<SelectedRows> restricted_;
  std::vector<Row> rows_;
  bool first_ = true;
  AlignedVector<float> log_probabilities_;
  AttentionWeights weights_;
};

}  // namespace mega::infer
