#include <array>
#include <system_error>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/stream.h"
#include "mega/base/strings.h"
#include "mega/data/readers/folders.h"
#include "mega/data/readers/readers.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSide = 32;
constexpr size_t kPixels = kSide * kSide;
constexpr size_t kClasses = 10;

// A byte for the label, then a plane each of red, green and blue.
using CifarRecord = std::array<char, 1 + 3 * kPixels>;

Split cifar_split(const fs::path& relative) {
  const std::string name = relative.filename().string();
  if (name.starts_with("data_batch")) return Split::train;
  if (name.starts_with("test_batch")) return Split::test;
  return split_of(relative);
}

// A line per class; the numbers of the classes where there is no such file.
std::vector<std::string> class_names(const fs::path& folder) {
  std::vector<std::string> names;
  const fs::path path = folder / "batches.meta.txt";
  std::error_code none;
  if (fs::exists(path, none)) {
    require_regular(path);
    LineReader lines(path, size_t{1} << 16);
    for (std::string line; lines.next(line);) {
      if (!trim(line).empty()) names.emplace_back(trim(line));
    }
    require(names.size() == kClasses, path.string(), ": ", names.size(), " names of classes; expected ",
            kClasses);
  } else {
    for (size_t i = 0; i < kClasses; ++i) names.push_back(std::to_string(i));
  }
  return names;
}

Picture picture_of(const CifarRecord& record, const std::string& where) {
  Picture picture;
  set_size(picture, kSide, kSide, 3, where);
  for (size_t i = 0; i < kPixels; ++i)
    for (size_t plane = 0; plane < 3; ++plane)
      picture.samples[3 * i + plane] = static_cast<uint8_t>(record[1 + plane * kPixels + i]);
  return picture;
}

void read_file(const fs::path& path, const fs::path& relative, RecordSink& sink, Problems& problems) {
  const std::vector<std::string> names = class_names(path.parent_path());
  const Split split = cifar_split(relative);
  InputStream stream(path);
  CifarRecord bytes;
  for (int64_t number = 1;; ++number) {
    const std::string where = relative.generic_string() + ":" + std::to_string(number);
    const size_t count = stream.read(bytes);
    if (count == 0 && number > 1) return;
    if (count < bytes.size()) {
      problems.add(where, "the file ends after " + std::to_string(count) + " of the " +
                              std::to_string(bytes.size()) + " bytes of a record");
      return;
    }
    const auto label = static_cast<unsigned char>(bytes[0]);
    if (label >= kClasses) {
      problems.add(where, "a label of " + std::to_string(label) +
                              "; expected 0 to 9, as in CIFAR-10's binary version");
      continue;
    }
    Record record;
    record.picture = picture_of(bytes, where);
    record.label = names[label];
    record.split = split;
    record.where = where;
    sink.add(std::move(record));
  }
}

}  // namespace

void read_cifar(const fs::path& path, const DataOptions&, RecordSink& sink, Problems& problems) {
  std::error_code none;
  if (!fs::is_directory(path, none)) return read_file(path, path.filename(), sink, problems);
  const std::vector<fs::path> files = list_files(path, {".bin"});
  require(!files.empty(), path.string(), ": no .bin file; expected data_batch_1.bin and its like");
  for (const fs::path& file : files) read_file(file, file.lexically_relative(path), sink, problems);
}

}  // namespace mega::data
