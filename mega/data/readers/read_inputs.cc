#include "mega/data/readers/read_inputs.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "mega/base/error.h"
#include "mega/base/files/stream.h"
#include "mega/data/dataset.h"
#include "mega/data/formats/table_file.h"
#include "mega/data/readers/folders.h"
#include "mega/data/readers/read_files.h"
#include "mega/data/readers/readers.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoPair = "expected two texts separated by a tab";

// Passes records on with the whole of their place: readers know it within the data.
class InputSink : public RecordSink {
 public:
  InputSink(const InputRequest& request, fs::path base, const std::function<void(Record&&)>& use)
      : request_(request), base_(std::move(base)), use_(use) {}

  using RecordSink::add;
  void add(Record&& record, const std::shared_ptr<const ExampleFiles>&) override {
    record.where = place(record.where);
    ++count_;
    use_(std::move(record));
  }
  int64_t size() const override { return count_; }
  LabelRule labels() const override { return {false, request_.labels, request_.classes}; }

  std::string place(const std::string& where) const { return (base_ / where).string(); }

 private:
  const InputRequest& request_;
  fs::path base_;
  const std::function<void(Record&&)>& use_;
  int64_t count_ = 0;
};

bool is_table(const fs::path& path, const InputRequest& request) {
  const std::string extension = extension_of(path);
  return request.table ||
         std::find(kTableExtensions.begin(), kTableExtensions.end(), extension) != kTableExtensions.end();
}

// Whether the file itself is an input, or has one on each line.
bool is_plain(const fs::path& path, const InputRequest& request) {
  std::error_code none;
  if (fs::is_directory(path, none)) return false;
  const auto& input = request.input.input;
  if (std::holds_alternative<TextInput>(input)) return request.lines || !is_table(path, request);
  if (std::holds_alternative<SeriesInput>(input)) return false;
  if (std::holds_alternative<AudioInput>(input)) return true;
  const std::string name = path.filename().string();  // published sets of pictures are one file for many
  return !name.starts_with("data_batch") && !name.starts_with("test_batch") &&
         name.find("-idx") == std::string::npos && extension_of(path) != ".tar";
}

void read_lines(const std::string& path, bool pairs, const std::function<void(Record&&)>& use,
                Problems& problems) {
  LineReader reader(path);
  for (std::string line; reader.next(line);) {
    if (pairs && line.find('\t') == std::string::npos)
      problems.add(reader.where(), kNoPair);
    else
      use(text_input(std::move(line), reader.where(), pairs));
  }
}

Record read_one(const std::string& path, const InputRequest& request) {
  const auto& input = request.input.input;
  if (std::holds_alternative<ImageInput>(input)) return read_image(path, request.data);
  if (const auto* audio = std::get_if<AudioInput>(&input)) return read_sound(path, *audio);
  return read_text_file(path);
}

// An Error about a file names it, and a problem says where by itself.
std::string without_place(const std::string& what, const std::string& path) {
  const std::string place = path == "-" ? "standard input" : path;
  return what.starts_with(place + ": ") ? what.substr(place.size() + 2) : what;
}

// Whether a plain file has an input on each line.
bool has_lines(const std::string& path, const InputRequest& request) {
  return std::holds_alternative<TextInput>(request.input.input) &&
         (request.lines || path == "-" || request.pairs);
}

void read_plain(const std::string& path, const InputRequest& request,
                const std::function<void(Record&&)>& use, Problems& problems) {
  if (has_lines(path, request)) return read_lines(path, request.pairs, use, problems);
  Record record;
  try {
    record = read_one(path, request);
  } catch (const Error& error) {
    if (!problems.skips()) throw;
    return problems.add(path, without_place(error.what(), path));
  }
  use(std::move(record));
}

bool is_picture_file(const std::string& path, const InputRequest& request) {
  return path != "-" && std::holds_alternative<ImageInput>(request.input.input) && is_plain(path, request);
}

void read_pictures(std::span<const std::string> paths, const InputRequest& request,
                   const std::function<void(Record&&)>& use, Problems& problems) {
  std::vector<LabelledFile> files;
  for (const std::string& path : paths) files.push_back({path, path, "", Split::unknown});
  InputSink sink(request, "", use);
  Problems within([&](const Problem& problem) {
    problems.add(problem.where, without_place(problem.what, problem.where));
  });
  const auto read = [&](const fs::path& path) { return read_image(path, request.data); };
  read_files(files, "", read, request.data, sink, within);
}

DatasetRequest examples_request(const std::string& path, const InputRequest& request) {
  DatasetRequest examples;
  examples.data = request.data;
  examples.data.path = path;
  examples.input = request.input;
  examples.pairs = request.pairs;
  return examples;
}

}  // namespace

InputRequest input_request(const Signature& signature, int documents) {
  InputRequest request;
  request.input = signature.input;
  request.data = signature.data;
  request.classes = signature.classes;
  request.pairs = documents == 2;
  // What chooses among examples is for training; every input gets an answer.
  request.data.classes = {};
  request.data.test_pattern = "";
  // A model trained on one published set of pictures reads others too.
  if (std::holds_alternative<ImageInput>(signature.input.input)) request.data.format = DataFormat::automatic;
  return request;
}

void read_inputs(const std::string& path, const InputRequest& request,
                 const std::function<void(Record&&)>& use, Problems& problems) {
  std::error_code none;
  require(path == "-" || fs::exists(path, none), path, ": no such file or folder");
  if (is_plain(path, request)) return read_plain(path, request, use, problems);
  const bool folder = fs::is_directory(path, none);
  InputSink sink(request,
                 path == "-" ? fs::path()
                 : folder    ? fs::path(path)
                             : fs::path(path).parent_path(),
                 use);
  Problems within([&](const Problem& problem) { problems.add(sink.place(problem.where), problem.what); });
  read_examples(examples_request(path, request), sink, within);
}

void read_inputs(std::span<const std::string> paths, const InputRequest& request,
                 const std::function<void(Record&&)>& use, Problems& problems) {
  while (!paths.empty()) {
    const auto other = std::find_if_not(
        paths.begin(), paths.end(), [&](const std::string& path) { return is_picture_file(path, request); });
    const auto pictures = static_cast<size_t>(other - paths.begin());
    if (pictures > 0)
      read_pictures(paths.first(pictures), request, use, problems);
    else
      read_inputs(paths.front(), request, use, problems);
    paths = paths.subspan(std::max<size_t>(1, pictures));
  }
}

int64_t count_inputs(const std::string& path, const InputRequest& request) {
  if (is_plain(path, request) && !has_lines(path, request)) return 1;
  int64_t inputs = 0;
  Problems problems([&](const Problem&) { ++inputs; });
  read_inputs(
      path, request, [&](Record&&) { ++inputs; }, problems);
  return inputs;
}

Record text_input(std::string text, std::string where, bool pair) {
  Record record;
  record.where = std::move(where);
  if (pair) {
    const size_t tab = text.find('\t');
    require(tab != std::string::npos, record.where, ": ", kNoPair);
    record.second = text.substr(tab + 1);
    text.resize(tab);
  }
  record.bytes = std::move(text);
  return record;
}

CutInputs::CutInputs(const Signature& signature) : channels_(channels_of(signature.input)) {
  const auto& input = signature.input.input;
  if (const auto* series = std::get_if<SeriesInput>(&input)) most_ = series->max_length;
  if (const auto* text = std::get_if<TextInput>(&input)) most_ = text->max_length;
  if (std::holds_alternative<TextInput>(input) && most_ > 0)
    tokenizer_ = make_tokenizer(signature, INT64_MAX);
}

bool CutInputs::is_cut(const Record& record) const {
  if (most_ == 0) return record.cut;
  if (tokenizer_ == nullptr) return static_cast<int64_t>(record.values.size()) / channels_ > most_;
  const auto too_long = [&](const std::string& text) {
    // A token has at least one byte, but for the last, </s>, and one that pieces may put before a text.
    return static_cast<int64_t>(text.size()) + 2 > most_ &&
           tokenizer_->document_length(text, most_ + 1) > most_;
  };
  return too_long(record.bytes) || too_long(record.second);
}

}  // namespace mega::data
