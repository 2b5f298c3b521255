#include "mega/models/translator.h"

namespace mega::models {

TranslatorImpl::TranslatorImpl(const TranslatorOptions& options)
    : TranslationModel(options, options.block.width) {
  set_stacks(std::make_unique<nn::MegaStack>(options.encoder(), encoder()),
             std::make_unique<nn::MegaStack>(options.decoder(), decoder()));
}

}  // namespace mega::models
