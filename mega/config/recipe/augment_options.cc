#include "mega/config/recipe/augment_options.h"

#include "mega/base/error.h"

namespace mega {

void check_augmentation(const AugmentOptions& options, const InputOptions& input) {
  const char* kind = std::visit([](const auto& one) { return one.kind; }, input.input);
  const bool text = std::holds_alternative<TextInput>(input.input);
  const bool signal =
      std::holds_alternative<AudioInput>(input.input) || std::holds_alternative<SeriesInput>(input.input);
  const auto check = [&](const char* name, bool on, bool possible, const char* where) {
    require(!on || possible, "augment.", name, ": is for input.kind = ", where, ", not for ", kind);
  };
  check("crop", options.crop, text || signal, "text, audio or series");
  check("shift", options.shift > 0, signal, "audio or series");
  check("noise", options.noise > 0, signal, "audio or series");
  check("byte_dropout", options.byte_dropout > 0, text, "text");
}

}  // namespace mega
