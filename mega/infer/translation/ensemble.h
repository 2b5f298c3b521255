// Several translators as one: the mean of their probabilities.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "mega/infer/translation/step_decoder.h"

namespace mega::infer {

// Alignments are the mean of those of the models that tell.
class Ensemble : public StepDecoder {
 public:
  // Error if there is none, or if their vocabularies differ in size.
  explicit Ensemble(std::vector<std::shared_ptr<StepDecoder>> models);

  int64_t vocabulary() const override { return models_.front()->vocabulary(); }
  int64_t max_positions() const override;
  void begin(std::span<const std::vector<Token>> sources) override;
  bool restrict(std::span<const Token> tokens) override;
  std::span<const float> step(std::span<const int64_t> parents, std::span<const Token> tokens) override;
  std::span<const float> alignment(int64_t row) const override;

 private:
  std::vector<std::shared_ptr<StepDecoder>> models_;
  std::vector<std::vector<Token>> sources_;
  std::vector<float> mean_;
  mutable std::vector<float> alignment_;
};

}  // namespace mega::infer
