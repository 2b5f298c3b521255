#include "mega/data/readers/read_images.h"

#include "mega/base/error.h"
#include "mega/base/files/stream.h"
#include "mega/data/formats/image_file.h"
#include "mega/data/readers/folders.h"
#include "mega/data/readers/read_files.h"
#include "mega/data/readers/readers.h"

namespace mega::data {

namespace fs = std::filesystem;

Record decoded_image(const std::string& bytes, const std::string& name, const DataOptions& options) {
  Record record;
  record.where = name;
  record.picture = decode_image(bytes, name, {options.jpeg_side});
  return record;
}

Record read_image(const fs::path& path, const DataOptions& options) {
  return decoded_image(read_stream(path, kLargestPictureFile), path == "-" ? "standard input" : path.string(),
                       options);
}

void read_images(const fs::path& path, const DataOptions& options, RecordSink& sink, Problems& problems) {
  const std::vector<LabelledFile> files =
      labelled_files(path, kPictureExtensions, options, problems, sink.labels().required);
  require(!files.empty(), path.string(), ": no PNG, JPEG, WebP, PGM or PPM file in a folder of a class");
  read_files(
      files, path, [options](const fs::path& file) { return read_image(file, options); }, options, sink,
      problems);
}

}  // namespace mega::data
