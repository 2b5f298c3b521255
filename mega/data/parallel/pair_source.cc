#include "mega/data/parallel/pair_source.h"

#include <algorithm>
#include <numeric>

#include "mega/base/strings.h"
#include "mega/text/tokens.h"

namespace mega::data {
namespace {

// The lines of these numbers, padded to the longest.
SequenceSet padded_lines(const TokenLines& lines, std::span<const int64_t> numbers) {
  SequenceSet set;
  std::vector<int64_t> begins;
  for (const int64_t number : numbers) {
    const Block line = lines.line(number);
    begins.push_back(line.begin);
    set.lengths.push_back(line.size());
    set.length = std::max(set.length, line.size());
  }
  set.tokens.assign(numbers.size() * static_cast<size_t>(set.length), kPad);
  int32_t* to = set.tokens.data();
  for (size_t i = 0; i < numbers.size(); ++i, to += set.length)
    lines.text().file->copy(begins[i], set.lengths[i], to);
  return set;
}

// The same lines one token on: </s> first, without their last token.
SequenceSet shifted(const SequenceSet& target) {
  SequenceSet set = target;
  int32_t* row = set.tokens.data();
  for (const int64_t length : set.lengths) {
    std::copy_backward(row, row + length - 1, row + length);
    row[0] = kEnd;
    row += set.length;
  }
  return set;
}

}  // namespace

std::vector<int64_t> pair_lengths(const PairPart& part) {
  std::vector<int64_t> lengths;
  lengths.reserve(static_cast<size_t>(part.size()));
  part.source.for_each_length([&](int64_t length) { lengths.push_back(length); });
  size_t i = 0;
  part.target.for_each_length([&](int64_t length) {
    lengths[i] = std::max(lengths[i], length);
    ++i;
  });
  return lengths;
}

Batch make_pair_batch(const PairPart& part, std::span<const int64_t> pairs) {
  Batch batch;
  batch.examples.assign(pairs.begin(), pairs.end());
  for (const int64_t pair : pairs) batch.names.push_back(part.name() + ", pair " + with_thousands(pair + 1));
  batch.targets.sequences = padded_lines(part.target, pairs);
  batch.inputs.push_back(padded_lines(part.source, pairs));
  batch.inputs.push_back(shifted(batch.targets.sequences));
  for (const SequenceSet& input : batch.inputs)
    batch.positions += std::accumulate(input.lengths.begin(), input.lengths.end(), int64_t{0});
  return batch;
}

std::vector<std::vector<int64_t>> plan_pairs_once(const PairPart& part, const BatchOptions& options) {
  return plan_once(pair_lengths(part), options);
}

}  // namespace mega::data
