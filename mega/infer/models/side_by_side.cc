#include "mega/infer/models/side_by_side.h"

#include "mega/infer/longest_first.h"
#include "mega/infer/models/answer.h"

namespace mega::infer {
namespace {

// The row of an example, without its padding.
SequenceView row(const data::SequenceSet& set, size_t example) {
  const auto of_row = [&](const auto& all, int64_t channels) {
    const auto at = static_cast<size_t>(channels) * example * static_cast<size_t>(set.length);
    const auto size = static_cast<size_t>(channels * set.lengths[example]);
    return all.empty() ? std::span(all) : std::span(all).subspan(at, size);
  };
  return {of_row(set.tokens, 1), of_row(set.values, set.channels), set.lengths[example]};
}

}  // namespace

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

std::vector<std::vector<float>> SideBySide::outputs(const data::Batch& batch) {
  std::vector<std::vector<float>> outputs(batch.examples.size());
  longest_first(pool_, batch.inputs.front().lengths, [&](size_t i, size_t slot) {
    std::vector<SequenceView> documents;
    for (const data::SequenceSet& set : batch.inputs) documents.push_back(row(set, i));
    outputs[i] = outputs_of(model_, documents, batch.names[i], {pool_, work_[slot]});
  });
  return outputs;
}

}  // namespace mega::infer
