// Mega classifiers for one sequence, or for a pair of documents.
#pragma once

#include "mega/config/models/classifier_options.h"
#include "mega/models/encoder_model.h"
#include "mega/ops/torch.h"

namespace mega::models {

// The released LRA encoder: no absolute positions, unscaled embeddings, padding zeroed before the first block
// and after the last norm.
class EncoderClassifierImpl : public EncoderModel {
 protected:
  explicit EncoderClassifierImpl(const EncoderClassifierOptions& options);
};

class ClassifierImpl : public EncoderClassifierImpl {
 public:
  explicit ClassifierImpl(const ClassifierOptions& options) : EncoderClassifierImpl(options) {}

  torch::Tensor forward(const Sequences& batch) { return predict({batch}); }  // (B, classes) logits
};
TORCH_MODULE(Classifier);

class MatcherImpl : public EncoderClassifierImpl {
 public:
  explicit MatcherImpl(const MatcherOptions& options) : EncoderClassifierImpl(options) {}

  // (B, classes) logits.
  torch::Tensor forward(const Sequences& first, const Sequences& second) { return predict({first, second}); }
};
TORCH_MODULE(Matcher);

}  // namespace mega::models
