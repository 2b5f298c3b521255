#include "mega/infer/models/side_by_side.h"

#include "mega/infer/longest_first.h"
#include "mega/infer/models/answer.h"

namespace mega::infer {

SideBySide::SideBySide(const SequenceModel& model, ThreadPool& pool)
    : model_(model), pool_(pool), work_(static_cast<size_t>(pool.threads())) {}

std::vector<std::vector<float>> SideBySide::outputs(std::span<const data::Record> records) {
  std::vector<std::vector<float>> outputs(records.size());
  std::vector<int64_t> sizes;
  for (const data::Record& record : records) sizes.push_back(static_cast<int64_t>(content_bytes(record)));
  const data::Encoder& encoder = model_.encoder();
  longest_first(pool_, sizes, [&](size_t i, size_t slot) {
    outputs[i] = outputs_of(model_, encoder, records[i], {pool_, work_[slot]});
  });
  return outputs;
}

}  // namespace mega::infer
