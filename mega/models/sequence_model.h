// Models that read whole sequences and say one thing about each.
#pragma once

#include <memory>
#include <vector>

#include "mega/config/classifier_options.h"
#include "mega/models/input_embedding.h"
#include "mega/nn/stack.h"
#include "mega/ops/torch.h"

namespace mega::models {

// A batch of sequences: tokens (B, L) int64 or real numbers (B, L), with several channels (B, L, channels),
// and their true lengths (B) int64; an undefined `lengths` means that all are L long.
struct Sequences {
  torch::Tensor values;
  torch::Tensor lengths;
};

// An embedding and a stack, pooled to one vector for each document, and a head on one or two of these. Kinds
// of models differ in their stack.
class SequenceModel : public torch::nn::Module {
 public:
  // One document, or two that are compared: (B, classes), logits or real numbers.
  torch::Tensor predict(const std::vector<Sequences>& documents);

  torch::Tensor encode(const Sequences& document);  // (B, D)

 protected:
  // The head, over so many documents of the given width.
  SequenceModel(const SequenceOptions& options, int64_t documents, int64_t width, double dropout);

  // What the released models hold as encoder.encoder: embedding and stack are registered in it.
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
