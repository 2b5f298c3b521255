// Where readers put what they read, one record after the other, so that nobody has to hold all of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "mega/data/record.h"

namespace mega::data {

// Examples that are a file each: the one at `where` is all of the file folder / where, and can be read from
// there again, by any thread.
struct ExampleFiles {
  std::filesystem::path folder;
  std::function<Record(const std::filesystem::path&)> read;
};

// What a sink wants of labels. Training needs them; a prediction does without, and without a label a text may
// be empty.
struct LabelRule {
  bool required = true;  // an example without one is a problem
  bool present = true;   // false: nothing in the data is a label
  std::span<const std::string> known =
      {};  // a model's classes, which tell a column of labels from one of values
};

class RecordSink {
 public:
  virtual ~RecordSink() = default;

  virtual LabelRule labels() const { return {}; }

  // `files` may be null: the record cannot be read again.
  virtual void add(Record&& record, const std::shared_ptr<const ExampleFiles>& files) = 0;
  void add(Record&& record) { add(std::move(record), nullptr); }

  // Whether it reads contents itself, later. Then it takes records that have all but their content.
  virtual bool takes_unread() const { return false; }
  virtual void add_unread(Record&& record, const std::shared_ptr<const ExampleFiles>& files) {
    add(std::move(record), files);
  }

  virtual int64_t size() const = 0;
};

}  // namespace mega::data
