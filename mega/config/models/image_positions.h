// The learned positions of a model of pictures for pictures of another size.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mega/config/models/image_options.h"

namespace mega {

// A tensor of a model of pictures as a model needs it that differs in the size of its pictures alone. None
// where the tensor does not depend on the size.
//
// Absolute positions (tokens, D) are interpolated as pictures are, bicubically, as DeiT does. The relative
// bias of offsets in reading order is taken apart into rows and columns of patches, which are scaled and
// interpolated, and put together again: what is n rows above stays there.
std::optional<std::vector<float>> resized_positions(const ImageOptions& from, const ImageOptions& to,
                                                    const std::string& name, std::span<const float> values);

}  // namespace mega
