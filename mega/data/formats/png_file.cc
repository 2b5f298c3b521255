#include <png.h>

#include <csetjmp>
#include <cstring>
#include <utility>

#include "mega/base/error.h"
#include "mega/data/formats/exif.h"
#include "mega/data/formats/image_file.h"
#include "mega/data/formats/picture_decoders.h"

// libpng reports errors by jumping to where setjmp was called. The functions that call setjmp here have no
// local objects with destructors: those belong to their callers.
namespace mega::data {
namespace {

struct Reading {
  std::string_view bytes;
  char error[200] = "";
  png_structp png = nullptr;
  png_infop info = nullptr;

  ~Reading() { png_destroy_read_struct(&png, &info, nullptr); }
};

struct Writing {
  std::string bytes;
  png_structp png = nullptr;
  png_infop info = nullptr;

  ~Writing() { png_destroy_write_struct(&png, &info); }
};

void on_error(png_structp png, png_const_charp message) {
  auto* error = static_cast<char*>(png_get_error_ptr(png));
  if (error) std::strncpy(error, message, sizeof(Reading::error) - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void give_bytes(png_structp png, png_bytep into, size_t count) {
  auto& reading = *static_cast<Reading*>(png_get_io_ptr(png));
  if (count > reading.bytes.size()) png_error(png, "the file ends too early");
  std::memcpy(into, reading.bytes.data(), count);
  reading.bytes.remove_prefix(count);
}

// False after an error of libpng.
bool read_header(Reading& reading) {
  if (setjmp(png_jmpbuf(reading.png))) return false;
  png_read_info(reading.png, reading.info);
  png_set_expand(reading.png);    // palettes, fewer than 8 bits, and one colour that is transparent
  png_set_scale_16(reading.png);  // to 8 bits
  png_set_interlace_handling(reading.png);
  png_read_update_info(reading.png, reading.info);
  return true;
}

bool read_rows(Reading& reading, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reading.png))) return false;
  png_read_image(reading.png, rows);
  png_read_end(reading.png, reading.info);
  return true;
}

int orientation_of(const Reading& reading) {
  png_bytep exif = nullptr;
  png_uint_32 size = 0;
  if (png_get_eXIf_1(reading.png, reading.info, &size, &exif) == 0) return 1;
  return exif_orientation({reinterpret_cast<const char*>(exif), size});
}

bool write_rows(Writing& writing, const GreyImage& image) {
  if (setjmp(png_jmpbuf(writing.png))) return false;
  png_set_IHDR(writing.png, writing.info, static_cast<png_uint_32>(image.width),
               static_cast<png_uint_32>(image.height), 8, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(writing.png, writing.info);
  for (int64_t y = 0; y < image.height; ++y) {
    png_write_row(writing.png, &image.pixels[static_cast<size_t>(y * image.width)]);
  }
  png_write_end(writing.png, writing.info);
  return true;
}

}  // namespace

Picture decode_png(std::string_view bytes, const std::string& name) {
  Picture picture;
  Reading reading{.bytes = bytes};
  const auto check = [&](bool ok) { require(ok, name, ": a damaged PNG file: ", reading.error); };
  reading.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, reading.error, on_error, on_warning);
  require(reading.png != nullptr, name, ": libpng cannot be started");
  reading.info = png_create_info_struct(reading.png);
  require(reading.info != nullptr, name, ": libpng cannot be started");
  png_set_read_fn(reading.png, &reading, give_bytes);
  check(read_header(reading));
  set_size(picture, png_get_image_height(reading.png, reading.info),
           png_get_image_width(reading.png, reading.info), png_get_channels(reading.png, reading.info), name);
  std::vector<png_bytep> rows;
  for (int64_t y = 0; y < picture.height; ++y) {
    rows.push_back(&picture.samples[static_cast<size_t>(y * picture.width * picture.channels)]);
  }
  check(read_rows(reading, rows.data()));
  return upright(std::move(picture), orientation_of(reading));
}

std::string encode_png(const GreyImage& image) {
  Writing writing;
  writing.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, on_error, on_warning);
  require(writing.png != nullptr, "libpng cannot be started");
  writing.info = png_create_info_struct(writing.png);
  require(writing.info != nullptr, "libpng cannot be started");
  const auto take_bytes = [](png_structp png, png_bytep bytes, size_t count) {
    static_cast<Writing*>(png_get_io_ptr(png))->bytes.append(reinterpret_cast<const char*>(bytes), count);
  };
  png_set_write_fn(writing.png, &writing, take_bytes, nullptr);
  require(write_rows(writing, image), "a picture of ", image.height, " by ", image.width,
          " pixels cannot be written as PNG");
  return std::move(writing.bytes);
}

}  // namespace mega::data
