// An encoder of whole sequences with a classifier on top.
#pragma once

#include <memory>
#include <vector>

#include "mega/config/models/classifier_options.h"
#include "mega/models/input_embedding.h"
#include "mega/models/padding.h"
#include "mega/models/sequence_model.h"
#include "mega/nn/stack.h"
#include "mega/ops/torch.h"

namespace mega::models {

// An embedding and a stack, pooled to one vector per document, and a head on one or two of these vectors.
// Kinds of models differ in their stack.
class EncoderModel : public SequenceModel {
 public:
  torch::Tensor predict(const std::vector<Sequences>& documents) override;

  torch::Tensor encode(const Sequences& document);  // (B, D)

 protected:
  // Builds the head for this number of documents of the given width.
  EncoderModel(const SequenceOptions& options, int64_t documents, int64_t width, double dropout);

  // The released models' encoder.encoder, in which embedding and stack are registered.
  torch::nn::Module& encoder() { return *encoder_; }

  // What stands for a document, of the stack's output (B, L, D): (B, D).
  virtual torch::Tensor pool(const torch::Tensor& x, const Padding& padding) const;

  // `scale` multiplies the embeddings.
  void set_encoder(InputEmbedding embedding, std::unique_ptr<nn::Stack> stack, double scale = 1.0);

 private:
  torch::Tensor classify(const torch::Tensor& representation);  // (B, documents * D) -> (B, classes)

  size_t documents_;
  int64_t channels_;
  Pooling pooling_;
  HeadActivation activation_;
  double dropout_, scale_ = 1.0;
  torch::nn::Linear hidden_{nullptr}, output_{nullptr};  // the first is empty if options.head is 0
  std::shared_ptr<torch::nn::Module> encoder_;
  InputEmbedding embedding_{nullptr};
  std::unique_ptr<nn::Stack> stack_;
};

}  // namespace mega::models
