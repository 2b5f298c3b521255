// Mega classifiers: of one sequence, and of a pair of documents.
#pragma once

#include "mega/config/model_options.h"
#include "mega/models/encoder.h"
#include "mega/models/sequence_classifier.h"
#include "mega/ops/torch.h"

namespace mega::models {

class EncoderClassifierImpl : public SequenceClassifier {
 public:
  torch::Tensor encode(const Sequences& document) override { return encoder_->forward(document); }

 protected:
  EncoderClassifierImpl(const EncoderClassifierOptions& options, int64_t documents)
      : SequenceClassifier(options, documents, options.block.width, options.block.dropout),
        encoder_(options) {
    register_encoder(encoder_.ptr());
  }

 private:
  Encoder encoder_;
};

class ClassifierImpl : public EncoderClassifierImpl {
 public:
  explicit ClassifierImpl(const ClassifierOptions& options) : EncoderClassifierImpl(options, 1) {}

  torch::Tensor forward(const Sequences& batch) { return predict({batch}); }  // (B, classes), logits
};
TORCH_MODULE(Classifier);

class MatcherImpl : public EncoderClassifierImpl {
 public:
  explicit MatcherImpl(const MatcherOptions& options) : EncoderClassifierImpl(options, 2) {}

  // (B, classes), logits
  torch::Tensor forward(const Sequences& first, const Sequences& second) { return predict({first, second}); }
};
TORCH_MODULE(Matcher);

}  // namespace mega::models
