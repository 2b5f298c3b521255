// An encoder that makes one vector of a sequence, and a head on top of one or two of them.
#pragma once

#include <vector>

#include "mega/config/model_options.h"
#include "mega/models/sequence_model.h"
#include "mega/ops/torch.h"

namespace mega::models {

// What all classifiers have in common: the head, under the released parameter names. Kinds of classifiers
// differ in how they encode.
class SequenceClassifier : public SequenceModel {
 public:
  virtual torch::Tensor encode(const Sequences& document) = 0;  // (B, D)

  torch::Tensor predict(const std::vector<Sequences>& documents) override;

 protected:
  // Of `documents` representations of the given width.
  SequenceClassifier(const SequenceOptions& options, int64_t documents, int64_t width, double dropout);

  // The released models hold their encoder in a module of the same name.
  void register_encoder(const std::shared_ptr<torch::nn::Module>& encoder);

 private:
  torch::Tensor classify(const torch::Tensor& representation);  // (B, documents * D) -> (B, classes)

  size_t documents_;
  double dropout_;
  torch::nn::Linear hidden_{nullptr}, output_{nullptr};
};

}  // namespace mega::models
