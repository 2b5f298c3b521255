#include <array>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/files/stream.h"
#include "mega/data/readers/folders.h"
#include "mega/data/readers/readers.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

// An idx file of bytes: zero, zero, 8 for bytes, the number of dimensions, and their sizes.
class IdxFile {
 public:
  IdxFile(const fs::path& path, size_t dimensions) : stream_(path) {
    const uint32_t magic = big_endian();
    require(magic == (0x800U | dimensions), stream_.name(), ": not an idx file of bytes in ", dimensions,
            " dimensions: it begins with ", magic, ", expected ", 0x800U | dimensions);
    for (size_t i = 0; i < dimensions; ++i) sizes_.push_back(big_endian());
  }

  int64_t size(size_t dimension) const { return sizes_[dimension]; }
  const std::string& name() const { return stream_.name(); }

  // False when the file ends first.
  bool read(std::span<char> into) { return stream_.read(into) == into.size(); }

  bool at_end() {
    char more;
    return stream_.read({&more, 1}) == 0;
  }

 private:
  uint32_t big_endian() {
    std::array<char, 4> bytes;
    require(stream_.read(bytes) == bytes.size(), stream_.name(), ": the file ends in its header");
    uint32_t value = 0;
    for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
  }

  InputStream stream_;
  std::vector<int64_t> sizes_;
};

// "train-images-idx3-ubyte" -> "train-labels-idx1-ubyte"
std::string labels_name(std::string images) {
  for (const auto& [from, to] : {std::pair("images", "labels"), std::pair("idx3", "idx1")}) {
    if (const size_t at = images.find(from); at != std::string::npos) {
      images.replace(at, std::string_view(from).size(), to);
    }
  }
  return images;
}

std::string plain_name(const fs::path& path) { return without_packing(path).filename().string(); }

// The file with the labels, compressed in whatever way, beside the one with the images.
fs::path labels_beside(const fs::path& images) {
  const std::string wanted = labels_name(plain_name(images));
  const fs::path folder = images.parent_path().empty() ? fs::path(".") : images.parent_path();
  for (const fs::path& file : list_files(folder, {})) {
    if (file.parent_path() == folder && plain_name(file) == wanted) return file;
  }
  fail(images.string(), ": no file ", wanted, " with the labels beside it");
}

void read_pair(const fs::path& path, const fs::path& relative, RecordSink& sink, Problems& problems) {
  IdxFile images(path, 3);
  IdxFile labels(labels_beside(path), 1);
  const int64_t count = images.size(0), height = images.size(1), width = images.size(2);
  require(labels.size(0) == count, labels.name(), ": ", labels.size(0), " labels for the ", count,
          " pictures of ", images.name());
  check_size(height, width, images.name());

  const Split split = split_of(relative);
  for (int64_t i = 0; i < count; ++i) {
    const std::string where = relative.generic_string() + ":" + std::to_string(i + 1);
    Record record;
    set_size(record.picture, height, width, 1, images.name());
    std::vector<uint8_t>& pixels = record.picture.samples;
    char label;
    const bool whole = images.read({reinterpret_cast<char*>(pixels.data()), pixels.size()});
    if (!whole || !labels.read({&label, 1})) {
      problems.add(where, (whole ? labels : images).name() + " ends before record " + std::to_string(i + 1) +
                              " of " + std::to_string(count));
      return;
    }
    record.label = std::to_string(static_cast<unsigned char>(label));
    record.split = split;
    record.where = where;
    sink.add(std::move(record));
  }
  for (IdxFile* file : {&images, &labels}) {
    require(file->at_end(), file->name(), ": the file goes on after the ", count, " records of its header");
  }
}

}  // namespace

void read_idx(const fs::path& path, const DataOptions&, RecordSink& sink, Problems& problems) {
  std::error_code none;
  if (!fs::is_directory(path, none)) return read_pair(path, path.filename(), sink, problems);
  const int64_t before = sink.size();
  for (const fs::path& file : list_files(path, {})) {
    const std::string name = plain_name(file);
    if (name.find("images") == std::string::npos || name.find("idx3") == std::string::npos) continue;
    read_pair(file, file.lexically_relative(path), sink, problems);
  }
  require(sink.size() > before || problems.count() > 0, path.string(),
          ": no pictures; expected train-images-idx3-ubyte and its like");
}

}  // namespace mega::data
