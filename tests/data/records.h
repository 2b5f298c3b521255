// What readers hand on, as lists; and pictures as a model sees them.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "mega/config/recipe/data_options.h"
#include "mega/config/recipe/input_options.h"
#include "mega/data/formats/resample.h"
#include "mega/data/record_sink.h"

namespace mega::testing {

using Records = std::vector<data::Record>;

class RecordList : public data::RecordSink {
 public:
  using RecordSink::add;
  void add(data::Record&& record, const std::shared_ptr<const data::ExampleFiles>&) override {
    records.push_back(std::move(record));
  }
  int64_t size() const override { return std::ssize(records); }

  Records records;
};

// collect(read_text, path, options, problems), collect(read_series, path, options, input, problems), ...
template <class Reader>
Records collect(const Reader& read, const std::filesystem::path& path, const DataOptions& options,
                data::Problems& problems) {
  RecordList list;
  read(path, options, list, problems);
  return std::move(list.records);
}
template <class Reader>
Records collect(const Reader& read, const std::filesystem::path& path, const DataOptions& options,
                const SeriesInput& input, data::Problems& problems) {
  RecordList list;
  read(path, options, input, list, problems);
  return std::move(list.records);
}
template <class Reader>
Records collect(const Reader& read, const std::filesystem::path& path, const DataOptions& options,
                const AudioInput& input, data::Problems& problems) {
  RecordList list;
  read(path, options, input, /*whole=*/false, list, problems);
  return std::move(list.records);
}

// The pictures in grey and in the input's size, as `bytes`.
inline data::Record in_grey(data::Record record, const ImageInput& input) {
  const data::GreyImage image =
      resampled(to_grey(record.picture), input.height, input.width, data::Filter::bilinear);
  record.bytes.assign(image.pixels.begin(), image.pixels.end());
  return record;
}
inline Records in_grey(Records records, const ImageInput& input) {
  for (data::Record& record : records) record = in_grey(std::move(record), input);
  return records;
}

}  // namespace mega::testing
