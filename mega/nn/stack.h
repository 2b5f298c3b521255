// The layers between the embedding and the head of a model.
#pragma once

#include <vector>

#include "mega/config/models/layer_options.h"
#include "mega/nn/mega_block.h"
#include "mega/nn/norm.h"
#include "mega/nn/state.h"
#include "mega/ops/torch.h"

namespace mega::nn {

// What a decoder attends to besides its own output: encoded (B, K, D) and its padding mask (B, K), or
// undefined.
struct Source {
  torch::Tensor encoded, mask;
};

// Kinds of models differ in their stack. Its modules are registered under the released names in `holder`, the
// module that also holds the embedding; the holder must outlive the stack.
class Stack {
 public:
  virtual ~Stack() = default;

  // Embeddings x (B, L, D), mask (B, L) bool with true = padding, or undefined -> (B, L, D). A state has one
  // entry per layer, opaque to everything but that layer; x continues the stream it describes. A decoder
  // needs a source, with a state only in the first call.
  virtual torch::Tensor forward(torch::Tensor x, const torch::Tensor& mask, State* state = nullptr,
                                const Source& source = {}) = 0;
};

// Mega blocks, with an optional norm of the embeddings, and a norm of the output if blocks are prenorm.
class MegaStack : public Stack {
 public:
  MegaStack(const StackOptions& options, torch::nn::Module& holder);

  torch::Tensor forward(torch::Tensor x, const torch::Tensor& mask, State* state = nullptr,
                        const Source& source = {}) override;

 private:
  StackOptions options_;
  torch::nn::Module& holder_;
  SequenceNorm embed_norm_{nullptr}, final_norm_{nullptr};
  std::vector<MegaBlock> blocks_;
};

// x (B, L, D) with zeros at padding.
torch::Tensor zero_padding(const torch::Tensor& x, const torch::Tensor& mask);

// The first step of every stack: dropout on the embeddings, then zeros at padding.
torch::Tensor begin_stack(const torch::Tensor& x, const torch::Tensor& mask, double dropout, bool training);

}  // namespace mega::nn
