// Classifiers: of one sequence, and of a pair of documents.
#pragma once

#include "mega/config/model_options.h"
#include "mega/models/encoder.h"
#include "mega/models/sequence_model.h"
#include "mega/ops/torch.h"

namespace mega::models {

// What both have in common: the encoder and the head, under the released parameter names.
class EncoderClassifierImpl : public SequenceModel {
 public:
  void reset_parameters();

 protected:
  EncoderClassifierImpl(const EncoderClassifierOptions& options, int64_t documents);

  torch::Tensor classify(const torch::Tensor& representation);  // (B, documents * D) -> (B, classes)

  Encoder encoder_{nullptr};

 private:
  double dropout_;
  torch::nn::Linear hidden_{nullptr}, output_{nullptr};
};

class ClassifierImpl : public EncoderClassifierImpl {
 public:
  explicit ClassifierImpl(const ClassifierOptions& options) : EncoderClassifierImpl(options, 1) {}

  torch::Tensor forward(const Sequences& batch);  // (B, classes), logits
  torch::Tensor predict(const std::vector<Sequences>& documents) override;
};
TORCH_MODULE(Classifier);

class MatcherImpl : public EncoderClassifierImpl {
 public:
  explicit MatcherImpl(const MatcherOptions& options) : EncoderClassifierImpl(options, 2) {}

  torch::Tensor forward(const Sequences& first, const Sequences& second);  // (B, classes), logits
  torch::Tensor predict(const std::vector<Sequences>& documents) override;
};
TORCH_MODULE(Matcher);

}  // namespace mega::models
