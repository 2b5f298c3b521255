#include "mega/data/formats/exif.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace mega::data {
namespace {

// Numbers of a TIFF file; none beyond its end.
class Tiff {
 public:
  explicit Tiff(std::string_view bytes) : bytes_(bytes), big_endian_(bytes.starts_with("MM")) {}

  std::optional<uint32_t> number(size_t at, size_t bytes) const {
    if (at > bytes_.size() || bytes > bytes_.size() - at) return std::nullopt;
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; ++i) {
      const size_t place = big_endian_ ? at + i : at + bytes - 1 - i;
      value = value << 8 | static_cast<unsigned char>(bytes_[place]);
    }
    return value;
  }

 private:
  std::string_view bytes_;
  bool big_endian_;
};

}  // namespace

int exif_orientation(std::string_view exif) {
  constexpr std::string_view kPrefix("Exif\0\0", 6);
  constexpr uint32_t kVersion = 42, kOrientation = 0x0112, kShort = 3;
  constexpr size_t kEntry = 12;
  if (exif.starts_with(kPrefix)) exif.remove_prefix(kPrefix.size());
  if (!exif.starts_with("II") && !exif.starts_with("MM")) return 1;
  const Tiff tiff(exif);
  if (tiff.number(2, 2) != kVersion) return 1;
  const size_t directory = tiff.number(4, 4).value_or(0);
  const uint32_t entries = tiff.number(directory, 2).value_or(0);  // 65,535 at most
  for (uint32_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + kEntry * i;
    const auto tag = tiff.number(entry, 2);
    if (!tag) return 1;
    if (*tag != kOrientation) continue;
    if (tiff.number(entry + 2, 2) != kShort || tiff.number(entry + 4, 4) != 1U) return 1;
    const uint32_t value = tiff.number(entry + 8, 2).value_or(1);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Picture upright(Picture picture, int orientation) {
  if (orientation <= 1 || orientation > 8) return picture;
  // From 5 on rows are columns. Of what is then there, left is right or top is bottom.
  const bool turned = orientation >= 5;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  Picture result(turned ? picture.width : picture.height, turned ? picture.height : picture.width,
                 picture.channels);
  uint8_t* to = result.samples.data();
  for (int64_t y = 0; y < result.height; ++y) {
    for (int64_t x = 0; x < result.width; ++x, to += picture.channels) {
      const int64_t across = from_right ? result.width - 1 - x : x;
      const int64_t down = from_bottom ? result.height - 1 - y : y;
      const uint8_t* from = picture.row(turned ? across : down) + (turned ? down : across) * picture.channels;
      std::copy_n(from, picture.channels, to);
    }
  }
  return result;
}

}  // namespace mega::data
