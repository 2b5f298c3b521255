// Files of pictures of every kind, changed here and there as the fuzzer says: a picture of the size that it
// says, or an Error. Random bytes alone (media_fuzz.cc) hardly get past the decoders' headers.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "mega/base/error.h"
#include "mega/data/formats/image_file.h"
#include "mega/report/thumbnail.h"
#include "tests/data/formats/picture_files.h"

namespace {

using namespace mega;

data::Picture picture_of(int64_t channels) {
  data::Picture picture(19, 23, channels);
  for (size_t i = 0; i < picture.samples.size(); ++i) picture.samples[i] = static_cast<uint8_t>(i * i / 7);
  return picture;
}

std::string png_of(int64_t channels) {
  const data::Picture picture = picture_of(channels);
  return to_png({picture.width, picture.height, picture.channels, picture.samples});
}

std::vector<std::string> good_files() {
  std::vector<std::string> files;
  for (const int64_t channels : {1, 3, 4})
    for (const bool progressive : {false, true})
      files.push_back(data::encode_jpeg(picture_of(channels), {.quality = 80, .progressive = progressive}));
  files.push_back(testing::jpeg_with_exif(files[2], testing::exif_of(6)));
  for (const int64_t channels : {1, 2, 3, 4}) files.push_back(png_of(channels));
  files.push_back(testing::png_with_chunk(png_of(3), testing::png_chunk("eXIf", testing::exif_of(5, true))));
  for (const int64_t channels : {3, 4}) files.push_back(testing::webp_of(picture_of(channels)));
  const std::string still = files.back().substr(12);  // without RIFF, size, WEBP
  const std::string frame = testing::riff_chunk("ANMF", std::string(6, '\0') + testing::little_endian(22, 3) +
                                                            testing::little_endian(18, 3) +
                                                            testing::little_endian(100, 3) + '\x02' + still);
  const std::string start =
      testing::riff_chunk("ANIM", testing::little_endian(0, 4) + testing::little_endian(0, 2));
  files.push_back(testing::extended_webp(19, 23, 2, start + frame + frame));
  files.push_back("P6 2 2 255\n123456789012");
  files.push_back("P2 2 2 1000 0 500 1000 1");
  return files;
}

// A few bytes replaced, inserted or cut away.
void edit(std::string& bytes, FuzzedDataProvider& choices) {
  for (int i = 0; i < 8 && choices.remaining_bytes() > 0; ++i) {
    const auto begin = choices.ConsumeIntegralInRange<size_t>(0, bytes.size());
    const auto length = choices.ConsumeIntegralInRange<size_t>(0, 8);
    bytes.replace(begin, length, choices.ConsumeRandomLengthString(8));
    if (choices.ConsumeIntegralInRange(0, 15) == 0) bytes.resize(begin);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<std::string> good = good_files();
  FuzzedDataProvider choices(data, size);
  std::string bytes = good[choices.ConsumeIntegralInRange<size_t>(0, good.size() - 1)];
  const int64_t side = choices.ConsumeBool() ? 4 : 0;
  edit(bytes, choices);
  try {
    const data::Picture picture = data::decode_image(bytes, "picture", {side});
    if (picture.height < 1 || picture.width < 1 || picture.channels < 1 || picture.channels > 4 ||
        std::ssize(picture.samples) != picture.height * picture.width * picture.channels)
      std::abort();
  } catch (const Error&) {
  }
  return 0;
}
