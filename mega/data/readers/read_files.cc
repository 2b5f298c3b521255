#include "mega/data/readers/read_files.h"

#include <memory>
#include <optional>

#include "mega/base/error.h"
#include "mega/data/in_order.h"

namespace mega::data {
namespace {

struct Outcome {
  std::optional<Record> record;
  std::string problem;

  size_t bytes() const { return record ? content_bytes(*record) : problem.size(); }
};

}  // namespace

void read_files(const std::vector<LabelledFile>& files, const std::filesystem::path& folder,
                const std::function<Record(const std::filesystem::path&)>& read, const DataOptions& options,
                RecordSink& sink, Problems& problems) {
  const auto all = std::make_shared<const ExampleFiles>(ExampleFiles{folder, read});
  const auto describe = [](Record& record, const LabelledFile& file) {
    record.label = file.label;
    record.split = file.split;
    record.where = file.relative;
  };
  if (options.lazy && !options.skip_broken && sink.takes_unread()) {
    for (const LabelledFile& file : files) {
      Record record;
      describe(record, file);
      sink.add_unread(std::move(record), all);
    }
    return;
  }
  const auto make = [&](int64_t i) {
    const LabelledFile& file = files[static_cast<size_t>(i)];
    Outcome outcome;
    try {
      outcome.record = read(file.absolute);
      describe(*outcome.record, file);
    } catch (const Error& error) {
      outcome.problem = error.what();
    }
    return outcome;
  };
  const auto use = [&](int64_t i, Outcome&& outcome) {
    if (outcome.record) {
      sink.add(std::move(*outcome.record), all);
    } else {
      problems.add(files[static_cast<size_t>(i)].relative, outcome.problem);
    }
  };
  in_order(
      static_cast<int64_t>(files.size()), make, [](const Outcome& outcome) { return outcome.bytes(); }, use);
}

}  // namespace mega::data
