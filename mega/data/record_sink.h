// Where readers put what they read, one record after the other, so that nobody has to hold all of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "mega/data/record.h"

namespace mega::data {

// Examples that are a file each: the one at `where` is all of the file folder / where, and can be read from
// there again, by any thread.
struct ExampleFiles {
  std::filesystem::path folder;
  std::function<Record(const std::filesystem::path&)> read;
};

class RecordSink {
 public:
  virtual ~RecordSink() = default;

  // `files` may be null: the record cannot be read again.
  virtual void add(Record&& record, const std::shared_ptr<const ExampleFiles>& files) = 0;
  void add(Record&& record) { add(std::move(record), nullptr); }

  virtual int64_t size() const = 0;
};

}  // namespace mega::data
