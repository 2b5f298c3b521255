#include "mega/config/recipe/longest_input.h"

#include <variant>

namespace mega {

int64_t longest_input(const InputOptions& options) {
  struct Longest {
    int64_t operator()(const TextInput& input) const { return input.max_length; }
    int64_t operator()(const ImageInput& input) const { return input.height * input.width; }
    int64_t operator()(const AudioInput& input) const { return input.length; }
    int64_t operator()(const SeriesInput& input) const { return input.max_length; }
    int64_t operator()(const LanguageInput&) const { return 0; }
    int64_t operator()(const TranslationInput& input) const { return input.max_length; }
  };
  return std::visit(Longest(), options.input);
}

}  // namespace mega
