// What stands between the embedding and the head of a model: layers one above the other.
#pragma once

#include <vector>

#include "mega/config/layer_options.h"
#include "mega/nn/mega_block.h"
#include "mega/nn/norm.h"
#include "mega/nn/state.h"
#include "mega/ops/torch.h"

namespace mega::nn {

// What a decoder attends to beside what it has written: encoded (B, K, D) and its padding mask (B, K), or
// undefined.
struct Source {
  torch::Tensor encoded, mask;
};

// Kinds of models differ in their stack. Its modules are registered in `holder`, the module that also holds
// the embedding, under the released names; the holder must outlive it.
class Stack {
 public:
  virtual ~Stack() = default;

  // Embeddings x (B, L, D), mask (B, L) bool with true = padding, or undefined -> (B, L, D). A state has an
  // entry for each layer, which only the layer looks into; with one, x continues what it describes.
  virtual torch::Tensor forward(torch::Tensor x, const torch::Tensor& mask, State* state = nullptr,
                                const Source& source = {}) = 0;
};

// Mega blocks, with a norm of the embeddings if asked for, and of the output where blocks are prenorm.
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

// What every stack does to its embeddings first: dropout, zeros at padding.
torch::Tensor begin_stack(const torch::Tensor& x, const torch::Tensor& mask, double dropout, bool training);

}  // namespace mega::nn
