#include "mega/report/thumbnail.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "mega/base/error.h"

namespace mega {
namespace {

std::string big_endian(uint64_t value) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

// Length, type, contents, and a checksum of the last two.
std::string png_chunk(const std::string& type, const std::string& contents) {
  const std::string body = type + contents;
  const uLong checksum =
      crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(contents.size()) + body + big_endian(checksum);
}

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string result(size, '\0');
  const int status =
      compress2(reinterpret_cast<Bytef*>(result.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                bytes.size(), Z_BEST_COMPRESSION);
  require(status == Z_OK, "a picture of the report cannot be compressed (zlib error ", status, ")");
  result.resize(size);
  return result;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (size_t k = 0; k < 4; ++k) text += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace

bool Thumbnail::valid() const {
  if (width < 1 || height < 1 || width > kLongestSide || height > kLongestSide) return false;
  return channels >= 1 && channels <= 4 && std::ssize(samples) == width * height * channels;
}

Thumbnail shrunk(const Thumbnail& picture, int64_t longest) {
  require(picture.valid(), "a picture of the report has another size than it says");
  require(longest >= 1, "shrunk: expected a side of at least one pixel");
  const int64_t side = std::max(picture.width, picture.height);
  if (side <= longest) return picture;
  Thumbnail small;
  small.width = std::max<int64_t>(1, picture.width * longest / side);
  small.height = std::max<int64_t>(1, picture.height * longest / side);
  small.channels = picture.channels;
  for (int64_t row = 0; row < small.height; ++row) {
    const int64_t top = row * picture.height / small.height;
    const int64_t bottom = (row + 1) * picture.height / small.height;
    for (int64_t column = 0; column < small.width; ++column) {
      const int64_t left = column * picture.width / small.width;
      const int64_t right = (column + 1) * picture.width / small.width;
      for (int64_t channel = 0; channel < small.channels; ++channel) {
        int64_t sum = 0;
        for (int64_t y = top; y < bottom; ++y)
          for (int64_t x = left; x < right; ++x)
            sum += picture.samples[static_cast<size_t>((y * picture.width + x) * picture.channels + channel)];
        const int64_t count = (bottom - top) * (right - left);
        small.samples.push_back(static_cast<uint8_t>((sum + count / 2) / count));
      }
    }
  }
  return small;
}

std::string to_png(const Thumbnail& picture) {
  require(picture.valid(), "a picture of the report has another size than it says");
  constexpr std::array<char, 4> kColourTypes = {0, 4, 2, 6};
  std::string header = big_endian(static_cast<uint64_t>(picture.width)) +
                       big_endian(static_cast<uint64_t>(picture.height)) + '\x08';  // bits per sample
  header += kColourTypes[static_cast<size_t>(picture.channels - 1)];
  header += std::string(3, '\0');  // deflate, filters by row, not interlaced
  std::string rows;
  const auto length = static_cast<ptrdiff_t>(picture.width * picture.channels);
  for (auto row = picture.samples.begin(); row != picture.samples.end(); row += length) {
    rows += '\0';  // no filter
    rows.append(row, row + length);
  }
  return "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", header) + png_chunk("IDAT", deflated(rows)) +
         png_chunk("IEND", "");
}

std::string to_data_uri(const Thumbnail& picture) {
  return "data:image/png;base64," + base64(to_png(picture));
}

}  // namespace mega
