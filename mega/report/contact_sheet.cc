#include "mega/report/contact_sheet.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "mega/base/error.h"
#include "mega/report/pixel_font.h"

namespace mega {
namespace {

constexpr int64_t kGap = 8;

Thumbnail blank(int64_t height, int64_t width) {
  constexpr int64_t kMostPixels = 100'000'000;
  require(std::max(height, width) <= Thumbnail::kLongestSide && height * width <= kMostPixels, "a sheet of ",
          height, " by ", width, " pixels is too large; show fewer or smaller pictures");
  Thumbnail sheet{width, height, 3, {}};
  sheet.samples.assign(static_cast<size_t>(height * width * 3), 255);
  return sheet;
}

// Each pixel as a square of `factor` pixels.
void paste(Thumbnail& sheet, int64_t top, int64_t left, const Thumbnail& picture, int64_t factor) {
  for (int64_t y = 0; y < picture.height * factor; ++y)
    for (int64_t x = 0; x < picture.width * factor; ++x)
      for (int64_t c = 0; c < 3; ++c)
        sheet.samples[static_cast<size_t>(((top + y) * sheet.width + left + x) * 3 + c)] =
            picture.samples[static_cast<size_t>((y / factor * picture.width + x / factor) * picture.channels +
                                                (picture.channels == 3 ? c : 0))];
}

}  // namespace

Thumbnail contact_sheet(const std::vector<SheetCell>& cells, int64_t side) {
  require(!cells.empty(), "a sheet needs something to show");
  require(side >= 1, "contact_sheet: expected a side of at least one pixel");
  size_t pictures = 1, lines = 0;
  for (const SheetCell& cell : cells) {
    pictures = std::max(pictures, cell.pictures.size());
    lines = std::max(lines, cell.lines.size());
  }
  const auto count = std::ssize(cells);
  const int64_t width = static_cast<int64_t>(pictures) * (side + kGap) + kGap;
  const int64_t height = side + static_cast<int64_t>(lines) * kLetterHeight + 2 * kGap;
  const double ratio = static_cast<double>(height) / static_cast<double>(width);
  const int64_t columns =
      std::clamp<int64_t>(std::llround(std::sqrt(static_cast<double>(count) * ratio)), 1, count);
  Thumbnail sheet = blank((count + columns - 1) / columns * height + kGap, columns * width);
  for (int64_t i = 0; i < count; ++i) {
    const SheetCell& cell = cells[static_cast<size_t>(i)];
    const int64_t top = i / columns * height + kGap;
    int64_t left = i % columns * width + kGap;
    const int64_t text_left = left;
    for (const Thumbnail& picture : cell.pictures) {
      require(picture.channels == 1 || picture.channels == 3,
              "contact_sheet: expected pictures of 1 or 3 channels");
      const Thumbnail small = shrunk(picture, side);
      const int64_t factor = std::max<int64_t>(1, side / std::max(small.width, small.height));
      paste(sheet, top, left, small, factor);
      left += side + kGap;
    }
    const auto letters = static_cast<size_t>((width - kGap) / kLetterWidth);
    for (size_t line = 0; line < cell.lines.size(); ++line)
      write_pixels(sheet, top + side + kGap / 2 + static_cast<int64_t>(line) * kLetterHeight, text_left,
                   std::string_view(cell.lines[line]).substr(0, letters), 0);
  }
  return sheet;
}

}  // namespace mega
