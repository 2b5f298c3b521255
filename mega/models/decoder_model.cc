#include "mega/models/decoder_model.h"

#include "mega/base/error.h"
#include "mega/ops/check.h"

namespace mega::models {

using torch::Tensor;

DecoderModel::DecoderModel(const TokenOptions& options, int64_t width)
    : layers_(static_cast<size_t>(options.layers)),
      decoder_(register_module("decoder", std::make_shared<torch::nn::Module>())),
      embedding_(options, width, *decoder_),
      output_(options, width, embedding_, *decoder_) {}

Tensor DecoderModel::features(const Tensor& tokens, const Tensor& mask, nn::State* state) {
  const Tensor x = embedding_.forward(tokens);
  ops::check_mask("language model", mask, tokens.size(0), tokens.size(1));
  if (state == nullptr) return nn::zero_padding(stack_->forward(x, mask), mask);
  nn::State next = *state;
  require(next.blocks.empty() || next.blocks.size() == layers_, "the state has ", next.blocks.size(),
          " blocks, the model ", layers_);
  next.blocks.resize(layers_);
  const Tensor y = nn::zero_padding(stack_->forward(x, mask, &next), mask);
  *state = std::move(next);
  return y;
}

}  // namespace mega::models
