// Files of pictures as other programs write them.
#pragma once

#include <webp/encode.h>
#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "mega/base/error.h"
#include "mega/data/formats/picture.h"

namespace mega::testing {

// Lossless; 3 or 4 channels.
inline std::string webp_of(const data::Picture& picture) {
  uint8_t* bytes = nullptr;
  const auto encode = picture.channels == 4 ? WebPEncodeLosslessRGBA : WebPEncodeLosslessRGB;
  const size_t size =
      encode(picture.samples.data(), static_cast<int>(picture.width), static_cast<int>(picture.height),
             static_cast<int>(picture.width * picture.channels), &bytes);
  require(size > 0, "libwebp cannot write a picture");
  const std::string result(reinterpret_cast<const char*>(bytes), size);
  WebPFree(bytes);
  return result;
}

// Bytes of a number, the least significant first, or last.
inline std::string little_endian(uint64_t value, int bytes) {
  std::string result;
  for (int i = 0; i < bytes; ++i) result += static_cast<char>(value >> (8 * i) & 0xFF);
  return result;
}
inline std::string big_endian(uint64_t value, int bytes) {
  const std::string reversed = little_endian(value, bytes);
  return {reversed.rbegin(), reversed.rend()};
}

// EXIF data that says which way up a picture is.
inline std::string exif_of(int orientation, bool big = false) {
  const auto number = [&](uint64_t value, int bytes) {
    return big ? big_endian(value, bytes) : little_endian(value, bytes);
  };
  return (big ? "MM" : "II") + number(42, 2) + number(8, 4) + number(2, 2) + number(0x010F, 2) +
         number(2, 2) + number(4, 4) + "abc" + '\0' + number(0x0112, 2) + number(3, 2) + number(1, 4) +
         number(static_cast<uint64_t>(orientation), 2) + number(0, 2) + number(0, 4);
}

// The file with EXIF data in it.
inline std::string jpeg_with_exif(const std::string& jpeg, const std::string& exif) {
  const std::string segment = std::string("Exif\0\0", 6) + exif;
  return jpeg.substr(0, 2) + "\xff\xe1" + big_endian(segment.size() + 2, 2) + segment + jpeg.substr(2);
}

inline std::string png_chunk(const std::string& type, const std::string& contents) {
  const std::string body = type + contents;
  return big_endian(contents.size(), 4) + body +
         big_endian(crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())), 4);
}
// Behind the header chunk, which the file begins with.
inline std::string png_with_chunk(const std::string& png, const std::string& chunk) {
  constexpr size_t kHeader = 8 + 25;
  return png.substr(0, kHeader) + chunk + png.substr(kHeader);
}

inline std::string riff_chunk(const std::string& type, const std::string& contents) {
  return type + little_endian(contents.size(), 4) + contents + std::string(contents.size() % 2, '\0');
}
// An extended WebP file; `flags` say what is in it (2: a film, 8: EXIF data).
inline std::string extended_webp(int64_t height, int64_t width, int flags, const std::string& chunks) {
  const std::string header = std::string(1, static_cast<char>(flags)) + std::string(3, '\0') +
                             little_endian(static_cast<uint64_t>(width - 1), 3) +
                             little_endian(static_cast<uint64_t>(height - 1), 3);
  const std::string body = "WEBP" + riff_chunk("VP8X", header) + chunks;
  return "RIFF" + little_endian(body.size(), 4) + body;
}

}  // namespace mega::testing
