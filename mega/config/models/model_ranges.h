// Ranges of options that several kinds of models have.
#pragma once

#include "mega/base/options/options.h"

namespace mega {

inline constexpr Range kVocabulary{1, 1 << 30};
inline constexpr Range kLayers{1, 1000};
inline constexpr Range kClasses{1, 1 << 20};

}  // namespace mega
