#include <algorithm>
#include <set>
#include <system_error>

#include "mega/base/error.h"
#include "mega/base/files/file.h"
#include "mega/base/files/stream.h"
#include "mega/base/strings.h"
#include "mega/data/formats/sound_file.h"
#include "mega/data/readers/folders.h"
#include "mega/data/readers/read_files.h"
#include "mega/data/readers/readers.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

// Speech Commands has _background_noise_ beside the words.
bool is_beside_the_classes(const LabelledFile& file) {
  const fs::path folder = fs::path(file.relative).parent_path();
  return std::any_of(folder.begin(), folder.end(),
                     [](const fs::path& part) { return part.string().starts_with('_'); });
}

std::set<std::string> lines_of(const fs::path& path) {
  std::set<std::string> all;
  std::error_code none;
  if (!fs::exists(path, none)) return all;
  require_regular(path);
  LineReader lines(path, size_t{1} << 16);
  for (std::string line; lines.next(line);) all.insert(std::string(trim(line)));
  return all;
}

// The lists that Speech Commands has in its root: what they do not name is for training.
void apply_lists(const fs::path& root, std::vector<LabelledFile>& files) {
  const std::set<std::string> test = lines_of(root / "testing_list.txt");
  const std::set<std::string> valid = lines_of(root / "validation_list.txt");
  if (test.empty() && valid.empty()) return;
  for (LabelledFile& file : files) {
    file.split = test.contains(file.relative)    ? Split::test
                 : valid.contains(file.relative) ? Split::valid
                                                 : Split::train;
  }
}

}  // namespace

Record read_sound(const fs::path& path, const AudioInput& input, bool whole) {
  constexpr size_t kLargestFile = size_t{1} << 31;
  Record record;
  record.where = path == "-" ? "standard input" : path.string();
  record.values = decode_sound(read_stream(path, kLargestFile), input, record.where, whole, &record.cut);
  return record;
}

void read_audio(const fs::path& path, const DataOptions& options, const AudioInput& input, bool whole,
                RecordSink& sink, Problems& problems) {
  std::vector<LabelledFile> files = labelled_files(
      path,
      {".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".aifc", ".au", ".snd", ".caf"},
      options, problems, sink.labels().required);
  if (options.classes.empty()) std::erase_if(files, is_beside_the_classes);
  require(!files.empty(), path.string(), ": no sound file (wav, flac, ogg, ...) in a folder of a class");
  if (options.test_pattern.empty()) apply_lists(path, files);
  read_files(
      files, path, [input, whole](const fs::path& file) { return read_sound(file, input, whole); }, options,
      sink, problems);
}

}  // namespace mega::data
