// Models that map whole sequences to one prediction each.
#pragma once

#include <memory>
#include <vector>

#include "mega/config/classifier_options.h"
#include "mega/models/input_embedding.h"
#include "mega/nn/stack.h"
#include "mega/ops/torch.h"

namespace mega::models {

// A batch of sequences: tokens (B, L) int64 or real numbers (B, L), with several channels (B, L, channels),
// and their lengths (B) int64 without padding; undefined `lengths` means that all have length L.
struct Sequences {
  torch::Tensor values;
  torch::Tensor lengths;
};

// An embedding and a stack, pooled to one vector per document, and a head on one or two of these vectors.
// Kinds of models differ in their stack.
class SequenceModel : public torch::nn::Module {
 public:
  // For one document, or two that are compared: (B, classes), logits or real numbers.
  torch::Tensor predict(const std::vector<Sequences>& documents);

  torch::Tensor encode(const Sequences& document);  // (B, D)

 protected:
  // Builds the head for this number of documents of the given width.
  SequenceModel(const SequenceOptions& options, int64_t documents, int64_t width, double dropout);

  // The released models' encoder.encoder, in which embedding and stack are registered.
  torch::nn::Module& encoder() { return *encoder_; }

  // `scale` multiplies the embeddings.
  void set_encoder(InputEmbedding embedding, std::unique_ptr<nn::Stack> stack, double scale = 1.0);

 private:
  torch::Tensor classify(const torch::Tensor& representation);  // (B, documents * D) -> (B, classes)

  size_t documents_;
  int64_t channels_;
  Pooling pooling_;
  double dropout_, scale_ = 1.0;
  torch::nn::Linear hidden_{nullptr}, output_{nullptr};
  std::shared_ptr<torch::nn::Module> encoder_;
  InputEmbedding embedding_{nullptr};
  std::unique_ptr<nn::Stack> stack_;
};

}  // namespace mega::models
