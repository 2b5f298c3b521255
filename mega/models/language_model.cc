#include "mega/models/language_model.h"

namespace mega::models {

LanguageModelImpl::LanguageModelImpl(const LanguageModelOptions& options)
    : DecoderModel(options, options.block.width) {
  set_stack(std::make_unique<nn::MegaStack>(options.stack(), decoder()));
}

}  // namespace mega::models
