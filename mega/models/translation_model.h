// The common interface and implementation of models that translate, for training, scoring and decoding.
#pragma once

#include <cstdint>
#include <memory>

#include "mega/config/models/translator_options.h"
#include "mega/models/token_layers.h"
#include "mega/nn/stack.h"
#include "mega/nn/state.h"
#include "mega/ops/torch.h"

namespace mega::models {

// An encoder of the source and a decoder of the target, each an embedding and a stack, and an output layer.
// Kinds of models differ in their stacks. What comes out at padding means nothing: no other position sees it.
class TranslationModel : public torch::nn::Module {
 public:
  // Tokens of the sources with </s> (B, K) int64, mask (B, K) bool with true = padding, or undefined.
  nn::Source encode(const torch::Tensor& tokens, const torch::Tensor& mask = {});

  // tokens (B, L) int64, the targets so far after </s>, mask (B, L) as above -> (B, L, D), the input of the
  // output layer. With a state, tokens continue its targets, and only the first call needs the source; a
  // failed call leaves the state unchanged.
  torch::Tensor features(const torch::Tensor& tokens, const torch::Tensor& mask, const nn::Source& source,
                         nn::State* state = nullptr);

  // -log p of each target (M) given its features (M, D): (M), with label smoothing as in ops::softmax_losses.
  // Differentiable. Never materialises M x vocabulary values at once.
  torch::Tensor losses(const torch::Tensor& features, const torch::Tensor& targets, double smoothing = 0.0) {
    return output_.losses(features, targets, smoothing);
  }

  // log p of every token given features (M, D): (M, vocabulary).
  torch::Tensor log_probabilities(const torch::Tensor& features) {
    return output_.log_probabilities(features);
  }

  int64_t vocabulary() const { return vocabulary_; }  // of the target
  int64_t max_length() const { return max_length_; }  // of a sentence with </s>; 0: any

 protected:
  TranslationModel(const TranslationOptions& options, int64_t width);

  // They hold all modules, as in the released model; each stack is registered in its own.
  torch::nn::Module& encoder() { return *encoder_; }
  torch::nn::Module& decoder() { return *decoder_; }

  void set_stacks(std::unique_ptr<nn::Stack> encoder, std::unique_ptr<nn::Stack> decoder);

 private:
  int64_t vocabulary_, max_length_;
  size_t decoder_layers_;
  std::shared_ptr<torch::nn::Module> encoder_, decoder_;
  TokenEmbedding source_embedding_, target_embedding_;
  TokenOutput output_;
  std::unique_ptr<nn::Stack> encoder_stack_, decoder_stack_;
};

}  // namespace mega::models
