#include "mega/config/recipe/input_options.h"

#include <iterator>
#include <type_traits>

#include "mega/base/error.h"

namespace mega {

double ImageInput::mean_of(int64_t channel) const {
  return means.empty() ? mean : means[static_cast<size_t>(channel)];
}

double ImageInput::deviation_of(int64_t channel) const {
  return deviations.empty() ? deviation : deviations[static_cast<size_t>(channel)];
}

void validate(const InputOptions& options) {
  const auto* image = std::get_if<ImageInput>(&options.input);
  if (image == nullptr) return;
  require(image->channels == 1 || image->channels == 3, "input.channels = ", image->channels,
          ": a picture has 1, shades of grey, or 3, red, green and blue");
  require(image->crop == 0 || image->crop >= 0.01, "input.crop = ", image->crop,
          ": expected 0, or a share of at least 0.01");
  const auto check = [&](const char* name, const std::vector<double>& values) {
    require(values.empty() || std::ssize(values) == image->channels, "input.", name, ": ", values.size(),
            " numbers for ", image->channels, " channels");
  };
  check("means", image->means);
  check("deviations", image->deviations);
}

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
  if (const auto* image = std::get_if<ImageInput>(&options.input)) return image->channels;
  const auto* series = std::get_if<SeriesInput>(&options.input);
  return series != nullptr ? series->channels : 1;
}

}  // namespace mega
