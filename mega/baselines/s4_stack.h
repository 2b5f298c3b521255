// Layers of S4 or S4D with residual connections, norms and, in language models, feed-forwards.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "mega/baselines/s4_layer.h"
#include "mega/config/models/s4_options.h"
#include "mega/nn/feed_forward.h"
#include "mega/nn/norm.h"
#include "mega/nn/stack.h"
#include "mega/ops/torch.h"

namespace mega::baselines {

struct S4StackOptions {
  StateSpaceOptions layer;
  std::function<std::shared_ptr<StateSpaceKernel>()> kernel;  // makes the systems of one layer
  int64_t blocks = 0;
  int64_t mixers = 1;  // layers in each block
  int64_t hidden = 0;  // width inside the feed-forward of each block; 0: none
};

// The state of a block is that of its layers, one after the other: (B, D, mixers N).
class S4Stack : public nn::Stack {
 public:
  S4Stack(const S4StackOptions& options, torch::nn::Module& holder);

  torch::Tensor forward(torch::Tensor x, const torch::Tensor& mask, nn::State* state = nullptr,
                        const nn::Source& source = {}) override;

 private:
  S4StackOptions options_;
  torch::nn::Module& holder_;
  std::vector<S4Layer> layers_;
  std::vector<nn::SequenceNorm> norms_;
  std::vector<nn::FeedForward> feed_forwards_;
  nn::SequenceNorm final_norm_{nullptr};
};

}  // namespace mega::baselines
