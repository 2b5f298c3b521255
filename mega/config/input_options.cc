#include "mega/config/input_options.h"

namespace mega {

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
