// clang-format off
#include <cstddef>  // jpeglib.h needs size_t and FILE
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <csetjmp>

#include "mega/base/error.h"
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

[[noreturn]] void on_error(j_common_ptr jpeg) {
  auto* reading = static_cast<Reading*>(jpeg->client_data);
  jpeg->err->format_message(jpeg, reading->error);
  std::longjmp(reading->escape, 1);
}

// Of warnings, only those that data is missing are errors: others occur in pictures that look right.
void on_message(j_common_ptr jpeg, int level) {
  const int code = jpeg->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) on_error(jpeg);
}

void on_progress(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= kMostScans) return;
  auto* reading = static_cast<Reading*>(jpeg->client_data);
  std::snprintf(reading->error, sizeof reading->error, "it has more than %d scans", kMostScans);
  std::longjmp(reading->escape, 1);
}

// False after an error of libjpeg.
bool read_header(Reading& reading, std::string_view bytes) {
  if (setjmp(reading.escape)) return false;
  jpeg_create_decompress(&reading.jpeg);
  reading.jpeg.client_data = &reading;
  reading.jpeg.progress = &reading.progress;
  jpeg_mem_src(&reading.jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&reading.jpeg, TRUE);
  reading.jpeg.out_color_space = reading.jpeg.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
  reading.jpeg.dct_method = JDCT_ISLOW;
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

}  // namespace

Picture decode_jpeg(std::string_view bytes, const std::string& name) {
  Picture picture;
  Reading reading;
  reading.jpeg.err = jpeg_std_error(&reading.errors);
  reading.jpeg.client_data = &reading;
  reading.errors.error_exit = on_error;
  reading.errors.emit_message = on_message;
  reading.progress.progress_monitor = on_progress;
  const auto check = [&](bool ok) {
    require(ok, name, ": a JPEG file that cannot be read: ", reading.error);
  };
  check(read_header(reading, bytes));
  set_size(picture, reading.jpeg.image_height, reading.jpeg.image_width,
           reading.jpeg.out_color_space == JCS_GRAYSCALE ? 1 : 3, name);
  check(read_rows(reading, picture));
  return picture;
}

}  // namespace mega::data
