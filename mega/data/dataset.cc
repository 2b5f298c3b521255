#include "mega/data/dataset.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "mega/base/error.h"
#include "mega/base/random.h"
#include "mega/base/strings.h"
#include "mega/base/utf8.h"
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
  const auto is_pathfinder = [](const std::string& name) {
    return name == "metadata" || name.starts_with("curv_");
  };
  return any_name(path, is_pathfinder) ? DataFormat::pathfinder : DataFormat::images;
}

template <class Input>
Input input_as(const DatasetRequest& request, DataFormat format) {
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

Records read_path(const fs::path& path, DataFormat format, const DatasetRequest& request,
                  Problems& problems) {
  const DataOptions& data = request.data;
  switch (format) {
    case DataFormat::listops:
      return read_listops(path, data, problems);
    case DataFormat::text:
      return read_text(path, data, problems);
    case DataFormat::pairs:
      return read_pairs(path, data, problems);
    case DataFormat::cifar:
      return read_cifar(path, data, input_as<ImageInput>(request, format), problems);
    case DataFormat::idx:
      return read_idx(path, data, input_as<ImageInput>(request, format), problems);
    case DataFormat::pathfinder:
      return read_pathfinder(path, data, input_as<ImageInput>(request, format), problems);
    case DataFormat::audio:
      return read_audio(path, data, input_as<AudioInput>(request, format), problems);
    case DataFormat::images:
      return read_images(path, data, input_as<ImageInput>(request, format), problems);
    case DataFormat::series:
      return read_series(path, data, input_as<SeriesInput>(request, format), problems);
    case DataFormat::automatic:
      break;
  }
  fail("data.format: unknown");
}

// Order of records that depends on the seed and on where each stands, not on how they were listed.
uint64_t shuffle_key(const Record& record, int64_t seed) {
  return stream_seed(static_cast<uint64_t>(seed), record.where);
}

void sort_by_key(std::vector<Record*>& records, int64_t seed) {
  std::sort(records.begin(), records.end(), [seed](const Record* a, const Record* b) {
    const uint64_t x = shuffle_key(*a, seed), y = shuffle_key(*b, seed);
    return x != y ? x < y : a->where < b->where;
  });
}

// Takes `share` of `from`, and of each of its classes where there are such, into `to`.
void divide(std::vector<Record>& records, Split from, Split to, double share, int64_t seed,
            Objective objective) {
  const bool has_classes = objective == Objective::classification;
  std::map<std::string, std::vector<Record*>> groups;
  for (Record& record : records)
    if (record.split == from) groups[has_classes ? record.label : ""].push_back(&record);

  // What is rounded is the sum so far: many classes of a few examples each give their share together.
  size_t seen = 0, taken = 0;
  for (auto& [label, group] : groups) {
    sort_by_key(group, seed);
    seen += group.size();
    const auto wanted = static_cast<size_t>(std::llround(share * static_cast<double>(seen)));
    const size_t most = share < 1 ? group.size() - 1 : group.size();  // something of each stays
    for (size_t i = 0; i < std::min(wanted - taken, most); ++i) group[i]->split = to;
    taken = wanted;
  }
}

void divide_all(std::vector<Record>& records, const DataOptions& options, Objective objective) {
  const auto has = [&](Split split) {
    return std::any_of(records.begin(), records.end(), [&](const Record& r) { return r.split == split; });
  };
  const bool told = has(Split::train) || has(Split::valid) || has(Split::test);
  for (Record& record : records)
    if (record.split == Split::unknown) record.split = Split::train;
  if (!told) divide(records, Split::train, Split::test, options.test_share, options.split_seed, objective);
  if (!has(Split::valid) && has(Split::train))
    divide(records, Split::train, Split::valid, options.valid_share, options.split_seed + 1, objective);
}

bool is_whole_number(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// A model file keeps the names of classes, as UTF-8.
void leave_out_unwritable(std::vector<Record>& records, Problems& problems) {
  std::erase_if(records, [&](const Record& record) {
    const bool writable = valid_utf8(record.label) == record.label;
    if (!writable) problems.add(record.where, "the label " + in_quotes(record.label) + " is not UTF-8");
    return !writable;
  });
}

void require_distinct(const std::vector<std::string>& classes) {
  std::set<std::string> seen;
  for (const std::string& name : classes)
    require(seen.insert(name).second, "data.classes: class ", in_quotes(name), " is named twice");
}

// Numbers by value, names by their bytes.
std::vector<std::string> found_classes(const std::vector<Record>& records) {
  std::set<std::string> names;
  for (const Record& record : records) names.insert(record.label);
  std::vector<std::string> classes(names.begin(), names.end());
  if (std::all_of(classes.begin(), classes.end(), is_whole_number))
    std::stable_sort(classes.begin(), classes.end(), [](const std::string& a, const std::string& b) {
      return std::stoll(a) < std::stoll(b);
    });
  return classes;
}

// The numbers of a regression's label; none when it is something else.
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

// Adds a record with its label to the part, or says why it cannot.
class Labeller {
 public:
  Labeller(Dataset& dataset, Objective objective, Problems& problems)
      : dataset_(dataset), objective_(objective), problems_(problems) {
    for (size_t i = 0; i < dataset.classes.size(); ++i)
      numbers_[dataset.classes[i]] = static_cast<int64_t>(i);
  }

  void add(Part& part, Record&& record) {
    if (objective_ == Objective::classification) {
      const auto found = numbers_.find(record.label);
      if (found == numbers_.end()) {
        problems_.add(record.where, "label " + in_quotes(record.label) + " is none of the " +
                                        std::to_string(numbers_.size()) + " known classes");
        return;
      }
      part.labels.push_back(found->second);
    } else {
      const std::vector<float> targets = parse_targets(record.label);
      if (dataset_.outputs == 0) dataset_.outputs = static_cast<int64_t>(targets.size());
      if (targets.empty() || static_cast<int64_t>(targets.size()) != dataset_.outputs) {
        problems_.add(record.where, "expected " + std::to_string(std::max<int64_t>(1, dataset_.outputs)) +
                                        " number(s) to predict, got " + in_quotes(record.label));
        return;
      }
      part.targets.insert(part.targets.end(), targets.begin(), targets.end());
    }
    part.records.push_back(std::move(record));
  }

 private:
  Dataset& dataset_;
  Objective objective_;
  Problems& problems_;
  std::map<std::string, int64_t> numbers_;
};

std::string checksum(const std::vector<Record>& records) {
  uint64_t sum = 0;  // a sum does not depend on the order
  for (const Record& record : records) sum += stream_seed(content_hash(record), record.label);
  return hexadecimal(sum);
}

// A random choice of as many of each split as the options allow.
void apply_limits(std::vector<Record>& records, const DataOptions& options) {
  std::map<Split, std::vector<Record*>> parts;
  for (Record& record : records) parts[record.split].push_back(&record);
  for (auto& [split, part] : parts) {
    int64_t limit = options.limit;
    if (split != Split::train && options.evaluation_limit > 0) limit = options.evaluation_limit;
    if (limit <= 0) continue;
    sort_by_key(part, options.split_seed + 2);
    for (size_t i = static_cast<size_t>(limit); i < part.size(); ++i) part[i]->split = Split::unknown;
  }
  std::erase_if(records, [](const Record& record) { return record.split == Split::unknown; });
}

Part& part_of(Dataset& dataset, Split split) {
  if (split == Split::valid) return dataset.valid;
  return split == Split::test ? dataset.test : dataset.train;
}

}  // namespace

const Part& Dataset::part(Split split) const { return part_of(const_cast<Dataset&>(*this), split); }

const char* split_name(Split split) {
  switch (split) {
    case Split::train:
      return "train";
    case Split::valid:
      return "valid";
    case Split::test:
      return "test";
    case Split::unknown:
      break;
  }
  return "unknown";
}

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
  Records records = read_path(data.path, format, request, problems);
  const auto add = [&](const std::string& path, Split split) {
    if (path.empty()) return;
    for (Record& record : read_path(path, format, request, problems)) {
      record.split = split;
      records.push_back(std::move(record));
    }
  };
  if (!data.valid.empty() || !data.test.empty())
    for (Record& record : records)
      if (record.split == Split::unknown) record.split = Split::train;
  add(data.valid, Split::valid);
  add(data.test, Split::test);
  if (!data.classes.empty())
    std::erase_if(records, [&](const Record& record) {
      return std::find(data.classes.begin(), data.classes.end(), record.label) == data.classes.end();
    });
  if (request.objective == Objective::classification) leave_out_unwritable(records, problems);
  require(!records.empty(), data.path, ": no examples",
          problems.count() > 0 ? "; " + problems.first().front().where + ": " + problems.first().front().what
                               : "");

  Dataset dataset;
  if (request.objective == Objective::classification) {
    dataset.classes = !request.classes.empty() ? request.classes
                      : !data.classes.empty()  ? data.classes
                                               : found_classes(records);
    dataset.outputs = static_cast<int64_t>(dataset.classes.size());
  }
  divide_all(records, data, request.objective);
  apply_limits(records, data);
  dataset.checksum = checksum(records);
  Labeller labeller(dataset, request.objective, problems);
  for (Record& record : records) labeller.add(part_of(dataset, record.split), std::move(record));
  dataset.problems = problems.count();
  dataset.first_problems = problems.first();
  return dataset;
}

}  // namespace mega::data
