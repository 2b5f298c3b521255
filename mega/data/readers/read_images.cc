#include "mega/base/error.h"
#include "mega/base/stream.h"
#include "mega/data/formats/image_file.h"
#include "mega/data/formats/resample.h"
#include "mega/data/readers/folders.h"
#include "mega/data/readers/read_files.h"
#include "mega/data/readers/readers.h"

namespace mega::data {

namespace fs = std::filesystem;

Record read_image(const fs::path& path, const ImageInput& input) {
  constexpr size_t kLargestFile = size_t{1} << 28;
  const std::string name = path == "-" ? "standard input" : path.string();
  const GreyImage image = resampled(decode_image(read_stream(path, kLargestFile), name), input.height,
                                    input.width, Filter::bilinear);
  Record record;
  record.bytes.assign(image.pixels.begin(), image.pixels.end());
  record.where = name;
  return record;
}

Records read_images(const fs::path& path, const DataOptions& options, const ImageInput& input,
                    Problems& problems) {
  const std::vector<LabelledFile> files =
      labelled_files(path, {".png", ".jpg", ".jpeg", ".pgm", ".ppm", ".pnm"}, options, problems);
  require(!files.empty(), path.string(), ": no PNG, JPEG, PGM or PPM file in a folder of a class");
  return read_files(
      files, [&](const fs::path& file) { return read_image(file, input); }, problems);
}

}  // namespace mega::data
