// Any bytes as a table: every row is a whole example, or a problem that is counted, or there is an Error. The
// first byte chooses the kind of table.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "mega/base/error.h"
#include "mega/data/readers/read_inputs.h"
#include "mega/data/readers/readers.h"
#include "tests/data/records.h"
#include "tests/fuzz/scratch_file.h"

namespace {

using namespace mega;

void check(bool ok) {
  if (!ok) std::abort();
}

// Calls `read` with options that leave out what is broken, and checks the records.
template <class Read, class IsWhole>
void check_records(const Read& read, const IsWhole& is_whole) {
  data::Problems problems(true);
  try {
    testing::RecordList list;
    read(list, problems);
    for (const data::Record& record : list.records) {
      check(!record.label.empty() && !record.where.empty());
      check(is_whole(record));
    }
  } catch (const Error&) {
  }
}

// The same file as inputs of a model, with and without labels, and with a row per time step.
void check_inputs(const std::filesystem::path& path, const DataOptions& options, const InputOptions& input) {
  for (const char* id : {"", "1", "id"}) {
    data::InputRequest request;
    request.input = input;
    request.data = options;
    request.data.id_column = id;
    request.classes = {"0", "1"};
    request.labels = id[0] != '1';
    data::Problems problems([&](const data::Problem& problem) { check(!problem.where.empty()); });
    try {
      data::read_inputs(
          path.string(), request, [](data::Record&& record) { check(!record.where.empty()); }, problems);
    } catch (const Error&) {
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const std::array<testing::ScratchFile, 4> files = {
      testing::ScratchFile(".csv"), testing::ScratchFile(".tsv"), testing::ScratchFile(".jsonl"),
      testing::ScratchFile("")};
  if (size == 0) return 0;
  const auto& path = files[bytes[0] % files.size()].write({bytes + 1, size - 1});

  DataOptions options;
  options.skip_broken = true;
  options.header = static_cast<Header>(bytes[0] / files.size() % 3);
  const SeriesInput series{2, 0, Standardize::none};
  check_records([&](auto& sink, auto& problems) { data::read_text(path, options, sink, problems); },
                [](const data::Record& record) { return !record.bytes.empty(); });
  check_records([&](auto& sink, auto& problems) { data::read_pairs(path, options, sink, problems); },
                [](const data::Record& record) { return !record.bytes.empty() && !record.second.empty(); });
  check_records(
      [&](auto& sink, auto& problems) { data::read_series(path, options, series, sink, problems); },
      [](const data::Record& record) { return !record.values.empty() && record.values.size() % 2 == 0; });
  check_inputs(path, options, {TextInput(TextUnits::bytes, 0)});
  check_inputs(path, options, {series});
  return 0;
}
