// A translation model as beam search asks it: the next token of many hypotheses side by side.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mega/infer/translation/step_decoder.h"
#include "mega/models/translation_model.h"
#include "mega/nn/state.h"
#include "mega/ops/torch.h"

namespace mega::models {

// For validation while a model trains, and for kinds that the engine does not run. Each source is encoded
// once, and so are its keys and values; a hypothesis has a state that goes on with it.
class TranslationDecoder : public infer::StepDecoder {
 public:
  // Puts the model into evaluation mode.
  explicit TranslationDecoder(std::shared_ptr<TranslationModel> model, torch::Device device = torch::kCPU);

  int64_t vocabulary() const override { return model_->vocabulary(); }
  int64_t max_positions() const override;
  void begin(std::span<const std::vector<Token>> sources) override;
  std::span<const float> step(std::span<const int64_t> parents, std::span<const Token> tokens) override;
  std::span<const float> alignment(int64_t /*row*/) const override { return {}; }

 private:
  std::shared_ptr<TranslationModel> model_;
  torch::Device device_;
  int64_t source_count_ = 0;
  nn::Source source_;             // encoded, of all sources
  nn::State state_;               // of the last step's rows
  std::vector<int64_t> sources_;  // of the last step's rows; empty before the first
  torch::Tensor log_probabilities_;
};

}  // namespace mega::models
