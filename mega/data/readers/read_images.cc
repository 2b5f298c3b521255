#include "mega/base/error.h"
#include "mega/base/files/stream.h"
#include "mega/data/formats/image_file.h"
#include "mega/data/readers/folders.h"
#include "mega/data/readers/read_files.h"
#include "mega/data/readers/readers.h"

namespace mega::data {

namespace fs = std::filesystem;

Record read_image(const fs::path& path) {
  constexpr size_t kLargestFile = size_t{1} << 28;
  Record record;
  record.where = path == "-" ? "standard input" : path.string();
  record.picture = decode_image(read_stream(path, kLargestFile), record.where);
  return record;
}

void read_images(const fs::path& path, const DataOptions& options, RecordSink& sink, Problems& problems) {
  const std::vector<LabelledFile> files =
      labelled_files(path, {".png", ".jpg", ".jpeg", ".webp", ".pgm", ".ppm", ".pnm"}, options, problems,
                     sink.labels().required);
  require(!files.empty(), path.string(), ": no PNG, JPEG, WebP, PGM or PPM file in a folder of a class");
  read_files(files, path, read_image, sink, problems);
}

}  // namespace mega::data
