#include "mega/data/dataset.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "mega/base/error.h"
#include "mega/base/hash.h"
#include "mega/base/random.h"
#include "mega/base/strings.h"
#include "mega/base/system/memory_limit.h"
#include "mega/base/utf8.h"
#include "mega/data/readers/folders.h"
#include "mega/data/readers/readers.h"

namespace mega::data {
namespace {

namespace fs = std::filesystem;

bool any_name(const fs::path& folder, const auto& matches) {
  std::error_code unreadable;  // the reader will say so
  if (!fs::is_directory(folder, unreadable)) return matches(folder.filename().string());
  for (const auto& entry : fs::directory_iterator(folder, unreadable))
    if (matches(entry.path().filename().string())) return true;
  return false;
}

DataFormat image_format(const fs::path& path) {
  if (any_name(path, [](const std::string& name) { return name.starts_with("data_batch"); }))
    return DataFormat::cifar;
  if (any_name(path, [](const std::string& name) { return name.find("-idx") != std::string::npos; }))
    return DataFormat::idx;
  if (any_name(path, [](const std::string& name) { return extension_of(name) == ".tar"; }))
    return DataFormat::tar;
  const auto is_pathfinder = [](const std::string& name) {
    return name == "metadata" || name.starts_with("curv_");
  };
  return any_name(path, is_pathfinder) ? DataFormat::pathfinder : DataFormat::images;
}

template <class Input>
const Input& require_input(const DatasetRequest& request, DataFormat format) {
  const auto* input = std::get_if<Input>(&request.input.input);
  require(input != nullptr, "data of format ", to_string(format), " needs input.kind = ", Input::kind);
  return *input;
}

// Layouts of one published data set each go by its names alone.
void require_usable(const DataOptions& data, DataFormat format) {
  const bool published = format == DataFormat::listops || format == DataFormat::cifar ||
                         format == DataFormat::idx || format == DataFormat::pathfinder;
  require(data.test_pattern.empty() || !published, "data.test_pattern: not for data of format ",
          to_string(format), "; name the examples to test on with data.test");
}

void read_path(const fs::path& path, DataFormat format, const DatasetRequest& request, RecordSink& sink,
               Problems& problems) {
  const DataOptions& data = request.data;
  switch (format) {
    case DataFormat::listops:
      return read_listops(path, data, sink, problems);
    case DataFormat::text:
      return read_text(path, data, sink, problems);
    case DataFormat::pairs:
      return read_pairs(path, data, sink, problems);
    case DataFormat::cifar:
      require_input<ImageInput>(request, format);
      return read_cifar(path, data, sink, problems);
    case DataFormat::idx:
      require_input<ImageInput>(request, format);
      return read_idx(path, data, sink, problems);
    case DataFormat::pathfinder:
      require_input<ImageInput>(request, format);
      return read_pathfinder(path, data, sink, problems);
    case DataFormat::audio:
      return read_audio(path, data, require_input<AudioInput>(request, format), request.whole, sink,
                        problems);
    case DataFormat::images:
      require_input<ImageInput>(request, format);
      return read_images(path, data, sink, problems);
    case DataFormat::tar:
      require_input<ImageInput>(request, format);
      return read_tar(path, data, sink, problems);
    case DataFormat::series:
      return read_series(path, data, require_input<SeriesInput>(request, format), sink, problems);
    case DataFormat::automatic:
      break;
  }
  fail("data.format: unknown");
}

// The examples that are used, by their numbers, in the order in which they were read.
using Numbers = std::vector<int64_t>;

// An order that depends on the seed and on where each example stands, not on how they were listed.
void shuffle(Numbers& numbers, const Examples& examples, int64_t seed) {
  struct Keyed {
    uint64_t key;
    int64_t number;
  };
  std::vector<Keyed> keyed;
  keyed.reserve(numbers.size());
  for (const int64_t number : numbers)
    keyed.push_back({stream_seed(static_cast<uint64_t>(seed), examples.where(number)), number});
  std::stable_sort(keyed.begin(), keyed.end(), [&](const Keyed& a, const Keyed& b) {
    return a.key != b.key ? a.key < b.key : examples.where(a.number) < examples.where(b.number);
  });
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = keyed[i].number;
}

// Takes `share` of `from`, and of each of its classes where there are such, into `to`.
void divide(Examples& examples, const Numbers& used, Split from, Split to, double share, int64_t seed,
            Objective objective) {
  const bool has_classes = objective == Objective::classification;
  std::map<std::string, Numbers> groups;
  for (const int64_t number : used)
    if (examples.split(number) == from) groups[has_classes ? examples.label(number) : ""].push_back(number);

  // What is rounded is the sum so far: many classes of a few examples each give their share together.
  size_t seen = 0, taken = 0;
  for (auto& [label, group] : groups) {
    shuffle(group, examples, seed);
    seen += group.size();
    const auto wanted = static_cast<size_t>(std::llround(share * static_cast<double>(seen)));
    const size_t most = share < 1 ? group.size() - 1 : group.size();  // something of each stays
    for (size_t i = 0; i < std::min(wanted - taken, most); ++i) examples.set_split(group[i], to);
    taken = wanted;
  }
}

void divide_all(Examples& examples, const Numbers& used, const DataOptions& options, Objective objective) {
  const auto has = [&](Split split) {
    return std::any_of(used.begin(), used.end(), [&](int64_t i) { return examples.split(i) == split; });
  };
  const bool told = has(Split::train) || has(Split::valid) || has(Split::test);
  for (const int64_t number : used)
    if (examples.split(number) == Split::unknown) examples.set_split(number, Split::train);
  if (!told)
    divide(examples, used, Split::train, Split::test, options.test_share, options.split_seed, objective);
  if (!has(Split::valid) && has(Split::train))
    divide(examples, used, Split::train, Split::valid, options.valid_share, options.split_seed + 1,
           objective);
}

bool is_whole_number(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// A model file keeps the names of classes, as UTF-8.
void leave_out_unwritable(Numbers& used, const Examples& examples, Problems& problems) {
  std::erase_if(used, [&](int64_t number) {
    const std::string& label = examples.label(number);
    const bool writable = valid_utf8(label) == label;
    if (!writable) problems.add(examples.where(number), "the label " + in_quotes(label) + " is not UTF-8");
    return !writable;
  });
}

void require_distinct(const std::vector<std::string>& classes) {
  std::set<std::string> seen;
  for (const std::string& name : classes)
    require(seen.insert(name).second, "data.classes: class ", in_quotes(name), " is named twice");
}

// Numbers by value, names by their bytes.
std::vector<std::string> found_classes(const Numbers& used, const Examples& examples) {
  std::set<std::string> names;
  for (const int64_t number : used) names.insert(examples.label(number));
  std::vector<std::string> classes(names.begin(), names.end());
  if (std::all_of(classes.begin(), classes.end(), is_whole_number))
    std::stable_sort(classes.begin(), classes.end(), [](const std::string& a, const std::string& b) {
      return std::stoll(a) < std::stoll(b);
    });
  return classes;
}

// Adds an example with its label to its part, or says why it cannot.
class Labeller {
 public:
  Labeller(Dataset& dataset, const Examples& examples, Objective objective, Problems& problems)
      : dataset_(dataset), examples_(examples), objective_(objective), problems_(problems) {
    for (size_t i = 0; i < dataset.classes.size(); ++i)
      numbers_[dataset.classes[i]] = static_cast<int64_t>(i);
  }

  // Whether it could be added.
  bool add(Part& part, int64_t number) {
    const std::string& label = examples_.label(number);
    if (objective_ == Objective::classification) {
      const auto found = numbers_.find(label);
      if (found == numbers_.end()) {
        problems_.add(examples_.where(number), "label " + in_quotes(label) + " is none of the " +
                                                   std::to_string(numbers_.size()) + " known classes");
        return false;
      }
      part.labels.push_back(found->second);
    } else {
      const std::vector<float> targets = parse_targets(label);
      if (dataset_.outputs == 0) dataset_.outputs = static_cast<int64_t>(targets.size());
      if (targets.empty() || static_cast<int64_t>(targets.size()) != dataset_.outputs) {
        problems_.add(examples_.where(number), "expected " +
                                                   std::to_string(std::max<int64_t>(1, dataset_.outputs)) +
                                                   " number(s) to predict, got " + in_quotes(label));
        return false;
      }
      part.targets.insert(part.targets.end(), targets.begin(), targets.end());
    }
    part.numbers.push_back(number);
    return true;
  }

 private:
  Dataset& dataset_;
  const Examples& examples_;
  Objective objective_;
  Problems& problems_;
  std::map<std::string, int64_t> numbers_;
};

// Another way to make it has another prefix: checksums of different ways cannot be compared. That of examples
// that were not read is of their places.
std::string checksum(const Numbers& used, const Examples& examples) {
  uint64_t sum = 0;  // a sum does not depend on the order
  for (const int64_t number : used) sum += hash_text(examples.label(number), examples.content_hash(number));
  return (examples.has_unread() ? "p1-" : "h1-") + hexadecimal(sum);
}

// A random choice of as many of each split as the options allow.
void apply_limits(Numbers& used, Examples& examples, const DataOptions& options) {
  std::map<Split, Numbers> parts;
  for (const int64_t number : used) parts[examples.split(number)].push_back(number);
  for (auto& [split, part] : parts) {
    int64_t limit = options.limit;
    if (split != Split::train && options.evaluation_limit > 0) limit = options.evaluation_limit;
    if (limit <= 0) continue;
    shuffle(part, examples, options.split_seed + 2);
    for (size_t i = static_cast<size_t>(limit); i < part.size(); ++i)
      examples.set_split(part[i], Split::unknown);
  }
  std::erase_if(used, [&](int64_t number) { return examples.split(number) == Split::unknown; });
}

int64_t memory_for_examples(const DataOptions& options) {
  return options.memory >= 0 ? options.memory : memory_limit() / 4;
}

Part& part_of(Dataset& dataset, Split split) {
  if (split == Split::valid) return dataset.valid;
  return split == Split::test ? dataset.test : dataset.train;
}

}  // namespace

const Part& Dataset::part(Split split) const { return part_of(const_cast<Dataset&>(*this), split); }

DataFormat find_format(const DatasetRequest& request) {
  if (request.data.format != DataFormat::automatic) return request.data.format;
  if (const auto* text = std::get_if<TextInput>(&request.input.input)) {
    if (text->units == TextUnits::listops) return DataFormat::listops;
    return request.pairs ? DataFormat::pairs : DataFormat::text;
  }
  if (std::holds_alternative<AudioInput>(request.input.input)) return DataFormat::audio;
  if (std::holds_alternative<SeriesInput>(request.input.input)) return DataFormat::series;
  return image_format(request.data.path);
}

std::vector<float> parse_targets(const std::string& label) {
  constexpr std::string_view kBetween = " ,;";
  std::vector<float> numbers;
  for (size_t at = label.find_first_not_of(kBetween); at != std::string::npos;) {
    const size_t end = std::min(label.find_first_of(kBetween, at), label.size());
    double number = 0.0;
    const auto [stop, error] = std::from_chars(label.data() + at, label.data() + end, number);
    const auto target = static_cast<float>(number);
    if (error != std::errc() || stop != label.data() + end || !std::isfinite(target)) return {};
    numbers.push_back(target);
    at = label.find_first_not_of(kBetween, end);
  }
  return numbers;
}

void read_examples(const DatasetRequest& request, RecordSink& sink, Problems& problems) {
  const DataFormat format = find_format(request);
  require_usable(request.data, format);
  read_path(request.data.path, format, request, sink, problems);
}

Dataset load_dataset(const DatasetRequest& request) {
  const DataOptions& data = request.data;
  require(!data.path.empty(),
          "no data: name a file or folder with --data PATH, or make some with `mega data make`");
  std::error_code none;
  for (const std::string& path : {data.path, data.valid, data.test})
    require(path.empty() || path == "-" || fs::exists(path, none), path, ": no such file or folder");
  require_distinct(data.classes);

  const DataFormat format = find_format(request);
  require_usable(data, format);
  Problems problems(data.skip_broken);
  const auto examples = std::make_shared<Examples>(memory_for_examples(data));
  const auto read = [&](const std::string& path, Split split) {
    const int64_t before = examples->size();
    read_path(path, format, request, *examples, problems);
    if (split == Split::unknown) return;
    for (int64_t i = before; i < examples->size(); ++i) examples->set_split(i, split);
  };
  read(data.path, Split::unknown);
  if (!data.valid.empty() || !data.test.empty())
    for (int64_t i = 0; i < examples->size(); ++i)
      if (examples->split(i) == Split::unknown) examples->set_split(i, Split::train);
  if (!data.valid.empty()) read(data.valid, Split::valid);
  if (!data.test.empty()) read(data.test, Split::test);

  Numbers used(static_cast<size_t>(examples->size()));
  std::iota(used.begin(), used.end(), 0);
  std::erase_if(used, [&](int64_t number) { return !wanted_class(data, examples->label(number)); });
  if (request.objective == Objective::classification) leave_out_unwritable(used, *examples, problems);
  require(!used.empty(), data.path, ": no examples",
          problems.count() > 0 ? "; " + problems.first().front().where + ": " + problems.first().front().what
                               : "");

  Dataset dataset;
  if (request.objective == Objective::classification) {
    dataset.classes = !request.classes.empty() ? request.classes
                      : !data.classes.empty()  ? data.classes
                                               : found_classes(used, *examples);
    dataset.outputs = static_cast<int64_t>(dataset.classes.size());
  }
  divide_all(*examples, used, data, request.objective);
  apply_limits(used, *examples, data);
  dataset.checksum = checksum(used, *examples);
  Labeller labeller(dataset, *examples, request.objective, problems);
  std::vector<bool> kept(static_cast<size_t>(examples->size()));
  for (const int64_t number : used)
    kept[static_cast<size_t>(number)] = labeller.add(part_of(dataset, examples->split(number)), number);
  for (int64_t i = 0; i < examples->size(); ++i)
    if (!kept[static_cast<size_t>(i)]) examples->drop(i);
  for (Part* part : {&dataset.train, &dataset.valid, &dataset.test}) part->examples = examples;
  dataset.problems = problems.count();
  dataset.first_problems = problems.first();
  return dataset;
}

}  // namespace mega::data
