#include "mega/config/recipe/input_options.h"

#include <type_traits>

namespace mega {

const TokenizerOptions* tokenizer_options(const InputOptions& options) {
  return std::visit(
      [](const auto& input) -> const TokenizerOptions* {
        if constexpr (std::is_base_of_v<TokenizerOptions, std::remove_cvref_t<decltype(input)>>)
          return &input;
        return nullptr;
      },
      options.input);
}

TokenizerOptions target_options(const TranslationInput& input) {
  TokenizerOptions options = input;
  options.model = input.target_model;
  return options;
}

TranslationTextOptions source_text(const TranslationInput& input) {
  TranslationTextOptions options;
  options.language = input.source_language;
  options.normalize = input.normalize;
  options.tokenize = input.tokenize;
  options.detokenize = input.detokenize;
  return options;
}

TranslationTextOptions target_text(const TranslationInput& input) {
  TranslationTextOptions options = source_text(input);
  options.language = input.target_language;
  return options;
}

Standardize standardization(const InputOptions& options) {
  if (const auto* audio = std::get_if<AudioInput>(&options.input)) return audio->standardize;
  if (const auto* series = std::get_if<SeriesInput>(&options.input)) return series->standardize;
  return Standardize::none;
}

int64_t channels_of(const InputOptions& options) {
  const auto* series = std::get_if<SeriesInput>(&options.input);
  return series != nullptr ? series->channels : 1;
}

}  // namespace mega
