#include <algorithm>
#include <charconv>
#include <map>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/stream.h"
#include "mega/base/strings.h"
#include "mega/data/readers/folders.h"
#include "mega/data/readers/readers.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestLine = size_t{1} << 16;

// Batches are numbered: 2.npy comes before 10.npy.
int64_t batch_number(const fs::path& metadata) {
  const std::string stem = without_packing(metadata).stem().string();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(stem.data(), stem.data() + stem.size(), number);
  return error == std::errc() && end == stem.data() + stem.size() ? number : -1;
}

// The metadata files of every folder that has some, folder by folder.
std::vector<fs::path> metadata_files(const fs::path& root) {
  std::vector<fs::path> files;
  for (const fs::path& file : list_files(root, {".npy"})) {
    if (file.parent_path().filename() == "metadata") files.push_back(file);
  }
  std::stable_sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return std::pair(a.parent_path().native(), batch_number(a)) <
           std::pair(b.parent_path().native(), batch_number(b));
  });
  return files;
}

// "imgs/0 sample_3.png 3 1 ..." in the metadata of `data`: the picture sample_3.png, whose label is 1.
void read_line(const std::string& line, const fs::path& data, const fs::path& root, const std::string& where,
               const std::shared_ptr<const ExampleFiles>& pictures, RecordSink& sink, Problems& problems) {
  const std::vector<std::string> fields = split(line, ' ');
  if (fields.size() < 4) {
    problems.add(where, "expected \"imgs/<batch> sample_<i>.png <i> <label> ...\", got " + in_quotes(line));
    return;
  }
  const std::string& label = fields[3];
  if (label != "0" && label != "1") {
    problems.add(where, "expected a label of 0 or 1, got " + in_quotes(label));
    return;
  }
  const fs::path picture = (data / fields[0] / fields[1]).lexically_normal();
  const fs::path relative = picture.lexically_relative(root);
  if (relative.empty() || *relative.begin() == "..") {
    problems.add(where, "names a picture outside the data: " + in_quotes(fields[0] + "/" + fields[1]));
    return;
  }
  try {
    Record record = pictures->read(picture);
    record.label = label;
    record.split = split_of(relative);
    record.where = relative.generic_string();
    sink.add(std::move(record), pictures);
  } catch (const Error& error) {
    problems.add(where, error.what());
  }
}

}  // namespace

void read_pathfinder(const fs::path& path, const DataOptions&, RecordSink& sink, Problems& problems) {
  const std::vector<fs::path> files = metadata_files(path);
  require(!files.empty(), path.string(),
          ": no metadata/*.npy in this folder or below; expected what is "
          "published as, for example, curv_contour_length_14");
  const fs::path root = path.lexically_normal();
  const auto read = [](const fs::path& picture) {
    require_regular(picture);
    return read_image(picture);
  };
  const auto pictures = std::make_shared<const ExampleFiles>(ExampleFiles{root, read});
  for (const fs::path& file : files) {
    const fs::path data = file.parent_path().parent_path();
    const std::string name = file.lexically_relative(path).generic_string();
    LineReader lines(file, kLongestLine);
    std::string line;
    while (lines.next(line)) {
      const std::string where = name + ":" + std::to_string(lines.number());
      // NumPy's own format begins so; Long Range Arena has text in files of that name.
      require(!line.starts_with("\x93NUMPY"), where,
              ": a NumPy array; expected lines of text as published by "
              "Long Range Arena");
      if (!trim(line).empty()) read_line(line, data, root, where, pictures, sink, problems);
    }
  }
}

}  // namespace mega::data
