#include "mega/data/corpus/block_source.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "mega/base/strings.h"
#include "mega/text/tokens.h"

namespace mega::data {

BlockSource::BlockSource(TokenView text, const BlockPlan& plan, const BatchOptions& options, uint64_t seed)
    : text_(std::move(text)), plan_(plan), options_(options), seed_(seed) {}

std::vector<std::vector<int64_t>> BlockSource::plan(int64_t epoch) {
  if (plan_.carry) return plan_streams(epoch);
  blocks_ = plan_blocks(text_, plan_, seed_, epoch);
  std::vector<int64_t> lengths;
  lengths.reserve(blocks_.size());
  for (const Block& block : blocks_) lengths.push_back(block.size());
  return plan_epoch(lengths, options_, seed_, epoch);
}

std::vector<std::vector<int64_t>> BlockSource::plan_streams(int64_t epoch) {
  const int64_t longest = plan_.max_chunks * plan_.chunk;
  const int64_t streams =
      options_.unit == BatchUnit::examples ? options_.batch : options_.batch / std::max<int64_t>(1, longest);
  CarryPlan carry = plan_carry(text_, plan_, std::max<int64_t>(1, streams), seed_, epoch);
  blocks_ = std::move(carry.segments);
  streams_ = carry.streams;
  std::vector<std::vector<int64_t>> batches;
  for (int64_t first = 0; first < std::ssize(blocks_); first += streams_) {
    std::vector<int64_t>& batch = batches.emplace_back(static_cast<size_t>(streams_));
    std::iota(batch.begin(), batch.end(), first);
  }
  return batches;
}

Batch BlockSource::make(std::span<const int64_t> examples) {
  Batch batch;
  batch.examples.assign(examples.begin(), examples.end());
  SequenceSet input;
  for (const int64_t example : examples) {
    const Block& block = blocks_[static_cast<size_t>(example)];
    batch.names.push_back(text_.name + ", token " + with_thousands(block.begin));
    batch.positions += block.size();
    input.lengths.push_back(block.size());
    input.length = std::max(input.length, block.size());
  }
  input.tokens.assign(examples.size() * static_cast<size_t>(input.length), kPad);
  SequenceSet target = input;

  int32_t *from = input.tokens.data(), *to = target.tokens.data();
  for (const int64_t example : examples) {
    const Block& block = blocks_[static_cast<size_t>(example)];
    text_.file->copy(block.begin, block.size(), to);
    *from = kEnd;
    if (follows_another(example)) text_.file->copy(block.begin - 1, 1, from);
    std::copy_n(to, block.size() - 1, from + 1);
    from += input.length;
    to += input.length;
  }
  batch.inputs.push_back(std::move(input));
  batch.targets.sequences = std::move(target);
  return batch;
}

}  // namespace mega::data
