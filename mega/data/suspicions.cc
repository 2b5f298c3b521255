#include "mega/data/suspicions.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <unordered_set>

#include "mega/base/strings.h"
#include "mega/data/readers/folders.h"
#include "mega/data/summary.h"

namespace mega::data {
namespace {

constexpr int64_t kSample = 1000;  // examples whose content is looked at
constexpr size_t kShown = 3;       // names in a message

// What columns are called, in lower case.
constexpr std::array<std::string_view, 38> kColumnNames = {
    "text",   "review",    "sentence",  "document", "content",    "body",  "comment", "message",
    "tweet",  "abstract",  "source",    "input",    "title",      "label", "labels",  "class",
    "target", "sentiment", "category",  "polarity", "y",          "x",     "stars",   "rating",
    "score",  "type",      "tag",       "topic",    "value",      "id",    "name",    "text1",
    "text2",  "sentence1", "sentence2", "premise",  "hypothesis", "output"};

bool names_a_column(std::string_view text) {
  const std::string name = lower_case(trim(text));
  return std::find(kColumnNames.begin(), kColumnNames.end(), name) != kColumnNames.end();
}

bool is_number(std::string_view text, double& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool is_number(std::string_view text) {
  double number;
  return is_number(text, number);
}

// "a", "b", "c" and 7 more.
std::string listed(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) shown.push_back(in_quotes(names[i]));
  const size_t more = names.size() - shown.size();
  return join(shown, ", ") + (more > 0 ? " and " + with_thousands(static_cast<int64_t>(more)) + " more" : "");
}

// Looks at one data set and collects what it finds.
class Inspection {
 public:
  Inspection(const Dataset& dataset, const DatasetRequest& request)
      : dataset_(dataset), request_(request), counts_(dataset.classes.size()) {
    for (const Part* part : parts()) {
      total_ += part->size();
      for (const int64_t label : part->labels) ++counts_[static_cast<size_t>(label)];
    }
  }

  std::vector<std::string> run() {
    if (total_ == 0) return {};
    look_for_headers();
    if (classifies()) {
      look_at_classes();
      look_at_class_names();
    }
    look_at_splits();
    look_at_contents();
    look_at_problems();
    return std::move(found_);
  }

 private:
  std::array<const Part*, 3> parts() const { return {&dataset_.train, &dataset_.valid, &dataset_.test}; }
  bool classifies() const { return request_.objective == Objective::classification; }
  bool reads_texts() const {
    const auto* text = std::get_if<TextInput>(&request_.input.input);
    return text != nullptr && text->units != TextUnits::listops;
  }

  template <class... Words>
  void say(const Words&... words) {
    found_.push_back((std::string() + ... + words));
  }

  static std::string count(int64_t number, const char* thing, const char* things) {
    return with_thousands(number) + " " + (number == 1 ? thing : things);
  }

  // A first line with a label that is nowhere else, where that is the name of a column or the other labels
  // are numbers.
  void look_for_headers() {
    if (!classifies()) return;  // a header is no number to predict
    struct First {
      const Part* part;
      int64_t index;
    };
    std::map<int64_t, std::vector<First>> firsts;  // by label
    for (const Part* part : parts())
      for (int64_t i = 0; i < part->size(); ++i)
        if (part->where(i).ends_with(":1")) firsts[part->labels[static_cast<size_t>(i)]].push_back({part, i});
    const auto numbers = std::count_if(dataset_.classes.begin(), dataset_.classes.end(),
                                       [](const std::string& name) { return is_number(name); });
    for (const auto& [label, examples] : firsts) {
      const std::string& name = dataset_.classes[static_cast<size_t>(label)];
      if (counts_[static_cast<size_t>(label)] != std::ssize(examples)) continue;
      const bool alone = !is_number(name) && numbers > 0 && numbers + 1 == std::ssize(dataset_.classes);
      const First& first = examples.front();
      if (!alone && !names_a_column(name) && !names_a_column(first.part->get(first.index).bytes)) continue;
      say(first.part->where(first.index),
          ": the first line looks like a header, and is used as an example of ", in_quotes(name),
          ": --set data.header=yes, and data.text_column and data.label_column to the columns");
    }
  }

  void look_at_classes() {
    const auto classes = std::ssize(dataset_.classes);
    if (classes == 1)
      say("all examples have the label ", in_quotes(dataset_.classes[0]),
          ": there is nothing to tell apart; is data.label_column the right one?");
    const bool too_many = classes > 2 && 2 * classes > total_;
    if (too_many)
      say(with_thousands(classes), " classes for ", with_thousands(total_), " examples (",
          listed(dataset_.classes),
          "): the label is probably in another column, data.label_column; numbers to predict need "
          "model.objective=regression");
    look_at_numbers(too_many);
    if (!too_many) {
      std::vector<std::string> single, unlearnt;
      std::vector<int64_t> trained(counts_.size());
      for (const int64_t label : dataset_.train.labels) ++trained[static_cast<size_t>(label)];
      for (size_t i = 0; i < counts_.size(); ++i) {
        if (counts_[i] == 1)
          single.push_back(dataset_.classes[i]);
        else if (trained[i] == 0 && !dataset_.train.empty())
          unlearnt.push_back(dataset_.classes[i]);
      }
      if (!single.empty())
        say(count(std::ssize(single), "class has", "classes have"), " a single example (", listed(single),
            "), which cannot be both learnt and tested: add examples, or name the classes to use in "
            "data.classes");
      if (!unlearnt.empty())
        say(count(std::ssize(unlearnt), "class has", "classes have"), " no training example (",
            listed(unlearnt), "): the model cannot learn what they are");
    }
  }

  // Numbers that are taken for names of classes.
  void look_at_numbers(bool said) {
    const auto& classes = dataset_.classes;
    std::string fraction;
    for (const std::string& name : classes) {
      double number = 0;
      if (!is_number(name, number)) return;
      if (number != std::floor(number) && fraction.empty()) fraction = name;
    }
    constexpr int64_t kMany = 20;
    if (!fraction.empty())
      say("labels such as ", in_quotes(fraction),
          " are numbers, and each is taken for a class: to predict numbers, --set "
          "model.objective=regression");
    else if (!said && std::ssize(classes) > kMany && total_ < kMany * std::ssize(classes))
      say(with_thousands(std::ssize(classes)),
          " different whole numbers are taken for classes: if they are amounts, set "
          "model.objective=regression");
  }

  // Classes that only look different.
  void look_at_class_names() {
    std::map<std::string, std::vector<std::string>> same;
    for (const std::string& name : dataset_.classes) same[lower_case(trim(name))].push_back(name);
    for (const auto& [lower, names] : same) {
      if (names.size() < 2) continue;
      say("the classes ", listed(names), " differ in upper and lower case only: write the labels in one way");
      return;
    }
  }

  void look_at_splits() {
    const DataOptions& data = request_.data;
    if (dataset_.train.empty()) say("no training examples: the data says that all are for something else");
    if (dataset_.valid.empty())
      say("no validation examples: nothing tells which model is the best and when to stop; ",
          data.valid.empty() && data.valid_share <= 0
              ? "--set data.valid_share=0.1, or name a file with some in data.valid"
              : "there are too few examples to take some");
    if (dataset_.test.empty())
      say("no test examples: nothing will tell how good the model is; ",
          data.test.empty() && data.test_share <= 0
              ? "--set data.test_share=0.1, or name a file with some in data.test"
              : "name some in data.test, or have more examples");
    const int64_t leaked =
        count_shared(dataset_.train, dataset_.test) + count_shared(dataset_.train, dataset_.valid);
    if (leaked > 0)
      say(with_thousands(leaked),
          " valid or test examples are also in the training split: results will look "
          "better than they are; remove duplicates");
  }

  void look_at_contents() {
    std::unordered_set<uint64_t> different;
    for (const Part* part : parts())
      for (int64_t i = 0; i < part->size() && different.size() < 2; ++i)
        different.insert(part->content_hash(i));
    if (total_ > 1 && different.size() == 1)
      say("all inputs are the same: is data.text_column, or whatever they are read from, the right one?");
    else if (reads_texts())
      look_at_texts();
    if (const auto* series = std::get_if<SeriesInput>(&request_.input.input))
      look_at_series(series->channels);
  }

  void look_at_texts() {
    int64_t looked_at = 0, ids = 0, empty = 0;
    std::string example;
    std::set<std::string> different;
    sample([&](const Record& record) {
      ++looked_at;
      if (trim(record.bytes).empty()) ++empty;
      if (!looks_like_id(record.bytes)) return;
      ++ids;
      if (example.empty()) example = record.bytes;
      different.insert(record.bytes);
    });
    if (10 * empty > looked_at)
      say(with_thousands(empty), " of ", with_thousands(looked_at),
          " texts are empty: is data.text_column the right one?");
    constexpr int64_t kFew = 5;
    if (ids >= kFew && ids == looked_at && std::ssize(different) == ids)
      say("texts such as ", in_quotes(example),
          " look like ids: set data.text_column to the column of the text");
  }

  // One word with digits.
  static bool looks_like_id(std::string_view text) {
    constexpr size_t kLongest = 64;
    const auto is = [&](int (*kind)(int)) {
      return [kind](char c) { return kind(static_cast<unsigned char>(c)) != 0; };
    };
    text = trim(text);
    return text.size() <= kLongest && std::any_of(text.begin(), text.end(), is(std::isdigit)) &&
           std::none_of(text.begin(), text.end(), is(std::isspace));
  }

  void look_at_series(int64_t channels) {
    constexpr size_t kShort = 4;
    size_t longest = 0;
    int64_t looked_at = 0;
    sample([&](const Record& record) {
      longest = std::max(longest, record.values.size() / static_cast<size_t>(channels));
      ++looked_at;
    });
    constexpr int64_t kEnough = 20;
    if (looked_at < kEnough || longest > kShort) return;
    say("the series have ", std::to_string(longest),
        request_.data.id_column.empty()
            ? " positions at most: if the table has a row per time step, set data.id_column to the column "
              "that "
              "names the series, and data.time_column"
            : " positions at most: is data.id_column the column that names the series?");
  }

  void look_at_problems() {
    if (10 * dataset_.problems <= total_ + dataset_.problems) return;
    const Problem& first = dataset_.first_problems.front();
    say(with_thousands(dataset_.problems), " of ", with_thousands(total_ + dataset_.problems),
        " examples cannot be used, the first at ", first.where, ": ", first.what);
  }

  template <class Use>
  void sample(const Use& use) const {
    const Part& part = dataset_.train.empty() ? dataset_.test : dataset_.train;
    const int64_t step = std::max<int64_t>(1, part.size() / kSample);
    for (int64_t i = 0; i < part.size(); i += step) use(part.get(i));
  }

  const Dataset& dataset_;
  const DatasetRequest& request_;
  std::vector<int64_t> counts_;  // examples of each class, in all splits
  int64_t total_ = 0;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> find_suspicions(const Dataset& dataset, const DatasetRequest& request) {
  return Inspection(dataset, request).run();
}

}  // namespace mega::data
