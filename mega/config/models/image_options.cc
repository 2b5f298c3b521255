#include "mega/config/models/image_options.h"

#include "mega/base/error.h"

namespace mega {

void ImageClassifierOptions::check() const {
  validate(block);
  require(image % patch == 0, "patch: an image of ", image, " pixels does not divide into patches of ",
          patch);
  const int64_t side = image / patch;
  require(block.position != PositionKind::simple || block.chunk > 0 || side * side <= block.max_positions,
          "block.max_positions: an image has ", side * side,
          " patches, more than max_positions = ", block.max_positions);
}

}  // namespace mega
