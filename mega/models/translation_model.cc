#include "mega/models/translation_model.h"

#include <utility>

#include "mega/base/error.h"
#include "mega/ops/check.h"

namespace mega::models {

using torch::Tensor;

// What both languages share, and a tied output, is registered once, under the first of its names: in the
// encoder, as in mega/config/models/translator_options.cc.
TranslationModel::TranslationModel(const TranslationOptions& options, int64_t width)
    : vocabulary_(options.vocabulary),
      max_length_(options.max_length()),
      decoder_layers_(static_cast<size_t>(options.decoder_layers)),
      encoder_(register_module("encoder", std::make_shared<torch::nn::Module>())),
      decoder_(register_module("decoder", std::make_shared<torch::nn::Module>())),
      source_embedding_(options.source_types(), width, options.scale_embedding, *encoder_),
      target_embedding_(options.share_embeddings
                            ? source_embedding_
                            : TokenEmbedding(options.vocabulary, width, options.scale_embedding, *decoder_)),
      output_(options.tie_output ? TokenOutput(target_embedding_)
                                 : TokenOutput(options.vocabulary, width, *decoder_)) {}

void TranslationModel::set_stacks(std::unique_ptr<nn::Stack> encoder, std::unique_ptr<nn::Stack> decoder) {
  encoder_stack_ = std::move(encoder);
  decoder_stack_ = std::move(decoder);
}

nn::Source TranslationModel::encode(const Tensor& tokens, const Tensor& mask) {
  const Tensor x = source_embedding_.forward(tokens);
  ops::check_mask("translation, source", mask, tokens.size(0), tokens.size(1));
  return {encoder_stack_->forward(x, mask), mask};
}

Tensor TranslationModel::features(const Tensor& tokens, const Tensor& mask, const nn::Source& source,
                                  nn::State* state) {
  const Tensor x = target_embedding_.forward(tokens);
  ops::check_mask("translation, target", mask, tokens.size(0), tokens.size(1));
  if (state == nullptr) return decoder_stack_->forward(x, mask, nullptr, source);
  nn::State next = *state;
  require(next.blocks.empty() || next.blocks.size() == decoder_layers_, "the state has ", next.blocks.size(),
          " blocks, the decoder ", decoder_layers_);
  next.blocks.resize(decoder_layers_);
  const Tensor y = decoder_stack_->forward(x, mask, &next, source);
  *state = std::move(next);
  return y;
}

}  // namespace mega::models
