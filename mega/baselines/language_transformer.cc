#include "mega/baselines/language_transformer.h"

#include "mega/baselines/transformer_stack.h"

namespace mega::baselines {

LanguageTransformerImpl::LanguageTransformerImpl(const TransformerLanguageOptions& options)
    : DecoderModel(options, options.width) {
  TransformerStackOptions stack_options{.layer = TransformerLayerOptions(options), .layers = options.layers};
  stack_options.layer.causal = stack_options.layer.prenorm = true;
  stack_options.positions = options.positions;
  stack_options.final_norm = options.final_norm;
  auto stack = std::make_unique<TransformerStack>(stack_options, decoder());
  stack->reset_parameters();
  set_stack(std::move(stack));
}

}  // namespace mega::baselines
