#include "mega/data/readers/read_files.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <thread>

#include "mega/base/error.h"

namespace mega::data {
namespace {

struct Outcome {
  std::optional<Record> record;
  std::string problem;
  std::exception_ptr failure;  // anything but an Error
};

Outcome outcome_of(const std::function<Record(const std::filesystem::path&)>& read,
                   const LabelledFile& file) {
  Outcome outcome;
  try {
    outcome.record = read(file.absolute);
    outcome.record->label = file.label;
    outcome.record->split = file.split;
    outcome.record->where = file.relative;
  } catch (const Error& error) {
    outcome.problem = error.what();
  } catch (...) {
    outcome.failure = std::current_exception();
  }
  return outcome;
}

}  // namespace

Records read_files(const std::vector<LabelledFile>& files,
                   const std::function<Record(const std::filesystem::path&)>& read, Problems& problems) {
  // Some at a time, so that a user who wants to hear of the first problem need not wait for the last file.
  constexpr size_t kAtATime = 1024;
  const size_t threads = std::clamp(std::thread::hardware_concurrency(), 2U, 16U);
  Records records;
  for (size_t begin = 0; begin < files.size(); begin += kAtATime) {
    std::vector<Outcome> outcomes(std::min(kAtATime, files.size() - begin));
    std::atomic<size_t> next = 0;
    const auto work = [&] {
      for (size_t i = next++; i < outcomes.size(); i = next++)
        outcomes[i] = outcome_of(read, files[begin + i]);
    };
    {
      std::vector<std::jthread> others;
      for (size_t i = 1; i < std::min(threads, outcomes.size()); ++i) others.emplace_back(work);
      work();
    }
    for (size_t i = 0; i < outcomes.size(); ++i) {
      Outcome& outcome = outcomes[i];
      if (outcome.failure) std::rethrow_exception(outcome.failure);
      if (outcome.record) {
        records.push_back(std::move(*outcome.record));
      } else {
        problems.add(files[begin + i].relative, outcome.problem);
      }
    }
  }
  return records;
}

}  // namespace mega::data
