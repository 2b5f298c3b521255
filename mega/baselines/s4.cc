#include "mega/baselines/s4.h"

#include "mega/baselines/s4_stack.h"

namespace mega::baselines {
namespace {

template <class Options>
std::pair<models::InputEmbedding, std::unique_ptr<nn::Stack>> encoder_of(const Options& options,
                                                                         torch::nn::Module& holder) {
  models::InputEmbedding embedding(options, options.width, 1.0);
  holder.register_module("embed_tokens", embedding);
  return {embedding,
          std::make_unique<S4Stack>(
              S4StackOptions{options, [&] { return make_kernel(options); }, options.layers}, holder)};
}

template <class Options>
std::unique_ptr<nn::Stack> decoder_of(const Options& options, torch::nn::Module& holder) {
  return std::make_unique<S4Stack>(S4StackOptions{options, [&] { return make_kernel(options); },
                                                  options.layers, options.mixers, options.hidden},
                                   holder);
}

}  // namespace

S4Impl::S4Impl(const S4Options& options)
    : EncoderModel(options, options.documents, options.width, options.dropout) {
  auto [embedding, stack] = encoder_of(options, encoder());
  set_encoder(embedding, std::move(stack));
}

S4Impl::S4Impl(const S4DOptions& options)
    : EncoderModel(options, options.documents, options.width, options.dropout) {
  auto [embedding, stack] = encoder_of(options, encoder());
  set_encoder(embedding, std::move(stack));
}

LanguageS4Impl::LanguageS4Impl(const S4LanguageOptions& options) : DecoderModel(options, options.width) {
  set_stack(decoder_of(options, decoder()));
}

LanguageS4Impl::LanguageS4Impl(const S4DLanguageOptions& options) : DecoderModel(options, options.width) {
  set_stack(decoder_of(options, decoder()));
}

}  // namespace mega::baselines
