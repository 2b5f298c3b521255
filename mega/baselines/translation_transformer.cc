#include "mega/baselines/translation_transformer.h"

#include "mega/baselines/transformer_stack.h"

namespace mega::baselines {
namespace {

std::unique_ptr<TransformerStack> make_stack(const TransformerTranslationOptions& options, int64_t layers,
                                             bool is_decoder, torch::nn::Module& holder) {
  TransformerStackOptions stack_options{.layer = TransformerLayerOptions(options), .layers = layers};
  stack_options.layer.causal = stack_options.layer.cross_attention = is_decoder;
  auto stack = std::make_unique<TransformerStack>(stack_options, holder);
  stack->reset_parameters_uniformly();
  return stack;
}

}  // namespace

TranslationTransformerImpl::TranslationTransformerImpl(const TransformerTranslationOptions& options)
    : TranslationModel(options, options.width) {
  set_stacks(make_stack(options, options.encoder_layers, /*is_decoder=*/false, encoder()),
             make_stack(options, options.decoder_layers, /*is_decoder=*/true, decoder()));
}

}  // namespace mega::baselines
