// clang-format off
#include <cstddef>  // jpeglib.h needs size_t and FILE
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <algorithm>
#include <csetjmp>
#include <string>
#include <utility>

#include "mega/base/error.h"
#include "mega/data/formats/exif.h"
#include "mega/data/formats/picture_decoders.h"

// libjpeg ends the program at an error unless the handler jumps away. The functions that call setjmp here
// have no local objects with destructors: those belong to their caller.
namespace mega::data {
namespace {

// A file of a few bytes may ask for any number of passes over the picture.
constexpr int kMostScans = 200;

struct Reading {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf escape{};
  char error[JMSG_LENGTH_MAX] = "";

  ~Reading() { jpeg_destroy_decompress(&jpeg); }
};

template <class Work>
[[noreturn]] void on_error(j_common_ptr jpeg) {
  auto* work = static_cast<Work*>(jpeg->client_data);
  jpeg->err->format_message(jpeg, work->error);
  std::longjmp(work->escape, 1);
}

// Of warnings, only those that data is missing are errors: others occur in pictures that look right.
void on_message(j_common_ptr jpeg, int level) {
  const int code = jpeg->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) on_error<Reading>(jpeg);
}

void on_progress(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= kMostScans) return;
  auto* reading = static_cast<Reading*>(jpeg->client_data);
  std::snprintf(reading->error, sizeof reading->error, "it has more than %d scans", kMostScans);
  std::longjmp(reading->escape, 1);
}

struct Writing {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg_destination_mgr destination{};
  std::jmp_buf escape{};
  char error[JMSG_LENGTH_MAX] = "";
  JOCTET buffer[1 << 12];
  std::string bytes;

  ~Writing() { jpeg_destroy_compress(&jpeg); }
};

void empty_buffer(j_compress_ptr jpeg) {
  auto& writing = *static_cast<Writing*>(jpeg->client_data);
  jpeg->dest->next_output_byte = writing.buffer;
  jpeg->dest->free_in_buffer = sizeof writing.buffer;
}

// All of the buffer, whatever the destination says of it.
boolean take_buffer(j_compress_ptr jpeg) {
  auto& writing = *static_cast<Writing*>(jpeg->client_data);
  writing.bytes.append(reinterpret_cast<const char*>(writing.buffer), sizeof writing.buffer);
  empty_buffer(jpeg);
  return TRUE;
}

void take_rest(j_compress_ptr jpeg) {
  auto& writing = *static_cast<Writing*>(jpeg->client_data);
  writing.bytes.append(reinterpret_cast<const char*>(writing.buffer),
                       sizeof writing.buffer - jpeg->dest->free_in_buffer);
}

constexpr int kExifMarker = JPEG_APP0 + 1;

J_COLOR_SPACE output_space(J_COLOR_SPACE space) {
  if (space == JCS_GRAYSCALE) return JCS_GRAYSCALE;
  return space == JCS_CMYK || space == JCS_YCCK ? JCS_CMYK : JCS_RGB;
}

int orientation_of(const jpeg_decompress_struct& jpeg) {
  for (auto marker = jpeg.marker_list; marker != nullptr; marker = marker->next) {
    const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
    if (marker->marker == kExifMarker && data.starts_with("Exif")) return exif_orientation(data);
  }
  return 1;
}

// Inks, which files hold inverted, to red, green and blue, as Pillow does it.
Picture without_inks(const Picture& inks) {
  Picture picture(inks.height, inks.width, 3);
  const uint8_t* ink = inks.samples.data();
  for (size_t i = 0; i < picture.samples.size(); i += 3, ink += 4) {
    const int white = ink[3];
    for (size_t c = 0; c < 3; ++c) {
      const int product = (255 - ink[c]) * white + 128;
      picture.samples[i + c] = static_cast<uint8_t>(white - (((product >> 8) + product) >> 8));
    }
  }
  return picture;
}

// False after an error of libjpeg.
bool read_header(Reading& reading, std::string_view bytes, const DecodeOptions& options) {
  if (setjmp(reading.escape)) return false;
  jpeg_create_decompress(&reading.jpeg);
  reading.jpeg.client_data = &reading;
  reading.jpeg.progress = &reading.progress;
  jpeg_mem_src(&reading.jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_save_markers(&reading.jpeg, kExifMarker, 0xFFFF);
  jpeg_read_header(&reading.jpeg, TRUE);
  reading.jpeg.out_color_space = output_space(reading.jpeg.jpeg_color_space);
  reading.jpeg.dct_method = JDCT_ISLOW;
  const int64_t side = std::min(reading.jpeg.image_height, reading.jpeg.image_width);
  reading.jpeg.scale_num = 1;
  reading.jpeg.scale_denom = 1;
  while (options.jpeg_side > 0 && reading.jpeg.scale_denom < 8 &&
         side >= options.jpeg_side * 2 * reading.jpeg.scale_denom)
    reading.jpeg.scale_denom *= 2;
  jpeg_calc_output_dimensions(&reading.jpeg);
  return true;
}

bool read_rows(Reading& reading, Picture& picture) {
  if (setjmp(reading.escape)) return false;
  jpeg_start_decompress(&reading.jpeg);
  while (reading.jpeg.output_scanline < reading.jpeg.output_height) {
    JSAMPROW row = &picture.samples[reading.jpeg.output_scanline * static_cast<size_t>(picture.width) *
                                    static_cast<size_t>(picture.channels)];
    jpeg_read_scanlines(&reading.jpeg, &row, 1);
  }
  jpeg_finish_decompress(&reading.jpeg);
  return true;
}

bool write_rows(Writing& writing, const Picture& picture, const JpegOptions& options) {
  if (setjmp(writing.escape)) return false;
  jpeg_compress_struct& jpeg = writing.jpeg;
  jpeg_create_compress(&jpeg);
  jpeg.client_data = &writing;
  jpeg.dest = &writing.destination;
  jpeg.image_height = static_cast<JDIMENSION>(picture.height);
  jpeg.image_width = static_cast<JDIMENSION>(picture.width);
  jpeg.input_components = static_cast<int>(picture.channels);
  jpeg.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : picture.channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, options.quality, TRUE);
  if (options.progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = const_cast<uint8_t*>(picture.row(jpeg.next_scanline));
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  return true;
}

}  // namespace

std::string encode_jpeg(const Picture& picture, const JpegOptions& options) {
  require(picture.channels == 1 || picture.channels == 3 || picture.channels == 4,
          "a JPEG file has 1, 3 or 4 channels, not ", picture.channels);
  Writing writing;
  writing.jpeg.err = jpeg_std_error(&writing.errors);
  writing.jpeg.client_data = &writing;
  writing.errors.error_exit = on_error<Writing>;
  writing.destination.init_destination = empty_buffer;
  writing.destination.empty_output_buffer = take_buffer;
  writing.destination.term_destination = take_rest;
  require(write_rows(writing, picture, options), "a picture of ", picture.height, " by ", picture.width,
          " pixels cannot be written as JPEG: ", writing.error);
  return std::move(writing.bytes);
}

Picture decode_jpeg(std::string_view bytes, const std::string& name, const DecodeOptions& options) {
  Picture picture;
  Reading reading;
  reading.jpeg.err = jpeg_std_error(&reading.errors);
  reading.jpeg.client_data = &reading;
  reading.errors.error_exit = on_error<Reading>;
  reading.errors.emit_message = on_message;
  reading.progress.progress_monitor = on_progress;
  const auto check = [&](bool ok) {
    require(ok, name, ": a JPEG file that cannot be read: ", reading.error);
  };
  check(read_header(reading, bytes, options));
  // Of the whole picture, also where it is scaled: a progressive file needs memory for all of it.
  check_size(reading.jpeg.image_height, reading.jpeg.image_width, name);
  set_size(picture, reading.jpeg.output_height, reading.jpeg.output_width, reading.jpeg.out_color_components,
           name);
  const int orientation = orientation_of(reading.jpeg);  // before the end, which frees it
  check(read_rows(reading, picture));
  if (picture.channels == 4) picture = without_inks(picture);
  return upright(std::move(picture), orientation);
}

}  // namespace mega::data
