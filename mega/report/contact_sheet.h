// Many small pictures with captions, as one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mega/report/thumbnail.h"

namespace mega {

// Pictures (of 1 or 3 channels) that belong together stand beside each other, above their lines of text.
struct SheetCell {
  std::vector<Thumbnail> pictures;
  std::vector<std::string> lines;
};

// Cells in rows on white, as near to a square as whole rows allow. Larger pictures are reduced to sides of at
// most `side` pixels, smaller ones enlarged by whole factors; lines that are too long for a cell are cut.
Thumbnail contact_sheet(const std::vector<SheetCell>& cells, int64_t side);

}  // namespace mega
